// How ranks that are processes hand one another open files. Here they are threads: which process they are of does not
// matter.

#include "runtime/world/processes/descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "error_words.hpp"
#include "proc_self.hpp"
#include "processes.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris::descriptors_test {
namespace {

std::string nobody_is_gone(int /*rank*/) {
  return {};
}

Descriptor file_with(const std::string& content) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(file.get(), content));
  return file;
}

/// Whoever has been handed a file shares its position, too.
std::string content_of(const Descriptor& file) {
  std::string content(100, '\0');
  const ssize_t length = ::pread(file.get(), content.data(), content.size(), 0);
  return length < 0 ? "unreadable" : content.substr(0, static_cast<std::size_t>(length));
}

/// The contents of so many files, each another.
std::vector<std::string> contents(int rank, std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("file " + std::to_string(i) + " of " + std::to_string(rank));
  return all;
}

std::vector<Descriptor> files_with(const std::vector<std::string>& contents) {
  std::vector<Descriptor> files;
  files.reserve(contents.size());
  for (const std::string& content : contents) files.push_back(file_with(content));
  return files;
}

/// What ranks with so many files are given by one another, [to][from][file]; `meanwhile` is done when the offer of rank
/// 0 is known. What is wrong instead of it, if anything.
using GivenFiles = std::vector<std::vector<std::vector<std::string>>>;
std::string hand_over(const std::vector<std::size_t>& counts, GivenFiles& given,
                      const std::function<void(const std::string& offer)>& meanwhile = {}) {
  const std::size_t size = counts.size();
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::deque<DescriptorExchange> exchanges;
  std::vector<std::string> offers;
  for (const int rank : ranks) {
    offers.push_back(exchanges.emplace_back(rank, ranks).offer(counts[static_cast<std::size_t>(rank)]));
  }
  if (meanwhile) meanwhile(offers[0]);
  given.assign(size, std::vector<std::vector<std::string>>(size));
  std::vector<std::string> errors(size);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        errors[rank] = test::error_of([&] {
          const std::vector<Descriptor> own = files_with(contents(static_cast<int>(rank), counts[rank]));
          exchanges[rank].complete(offers, own, nobody_is_gone, [&](int peer, const std::vector<Descriptor>& files) {
            for (const Descriptor& file : files) {
              given[rank][static_cast<std::size_t>(peer)].push_back(content_of(file));
            }
          });
        });
      });
    }
  }
  std::string all;
  for (const std::string& error : errors) all += error;
  return all;
}

/// Every rank's to all others.
GivenFiles all_of(const std::vector<std::size_t>& counts) {
  GivenFiles given(counts.size(), std::vector<std::vector<std::string>>(counts.size()));
  for (std::size_t to = 0; to < counts.size(); ++to) {
    for (std::size_t from = 0; from < counts.size(); ++from) {
      if (from != to) given[to][from] = contents(static_cast<int>(from), counts[from]);
    }
  }
  return given;
}

TEST(Descriptors, AreHandedToEveryRank) {
  for (const std::vector<std::size_t>& counts : {std::vector<std::size_t>{1, 1}, {0, 3, 1}, {253, 254, 0}}) {
    GivenFiles given;
    EXPECT_EQ(hand_over(counts, given), "");
    EXPECT_EQ(given, all_of(counts));
  }
}

/// Rank 0 has more for the others than a user may have on their way, or a process may have open: those who are given
/// them close them as soon as they have taken them.
TEST(Descriptors, AreHandedOverWhereFewMayBeOpen) {
  test::Processes processes;
  processes.start(0, [](int) {
    test::become_another_user();  // root may have as many on their way as it likes
    constexpr std::size_t count = 100;
    const std::vector<int> ranks = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const rlimit few{350, 350};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::deque<DescriptorExchange> exchanges;
    std::vector<std::string> offers;
    for (const int rank : ranks) offers.push_back(exchanges.emplace_back(rank, ranks).offer(rank == 0 ? count : 0));
    std::string said;
    std::jthread rank_0([&] {
      said = test::error_of([&] { exchanges[0].complete(offers, files_with(contents(0, count)), nobody_is_gone, {}); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until it can send no more
    int right = 0;
    for (const int rank : ranks) {
      if (rank == 0) continue;
      exchanges[static_cast<std::size_t>(rank)].complete(offers, {}, nobody_is_gone,
                                                         [&](int peer, const std::vector<Descriptor>& files) {
                                                           std::vector<std::string> given;
                                                           for (const Descriptor& file : files)
                                                             given.push_back(content_of(file));
                                                           right += peer == 0 && given == contents(0, count) ? 1 : 0;
                                                         });
    }
    rank_0.join();
    return said + std::to_string(right) + " right";
  });
  EXPECT_EQ(processes.wait().front().said, "8 right");
}

TEST(Descriptors, SayThatTooManyAreOpen) {
  test::Processes processes;
  processes.start(0, [](int) {
    DescriptorExchange rank_0(0, {0, 1});
    DescriptorExchange rank_1(1, {0, 1});
    const std::vector<std::string> offers = {rank_0.offer(20), rank_1.offer(0)};
    const std::vector<Descriptor> own = files_with(contents(0, 20));
    rank_0.complete(offers, own, nobody_is_gone, {});
    const auto limit = static_cast<rlim_t>(test::open_files()) + 10;
    const rlimit few{limit, limit};
    ::setrlimit(RLIMIT_NOFILE, &few);
    return test::error_of([&] { rank_1.complete(offers, {}, nobody_is_gone, {}); });
  });
  EXPECT_EQ(processes.wait().front().said,
            "this process has too many open files to be handed more; raise its limit (ulimit -n)");
}

/// Sends `count` descriptors in one message to whoever made the offer, as if rank 1 did, so long after it has
/// connected.
void send_as_rank_1(const std::string& offer, std::size_t count, std::chrono::milliseconds pause = {}) {
  const std::vector<std::string> said = unpack(offer, 3);
  const std::string text = pack({said[1], "1"});
  const Descriptor file = file_with("a stranger's");
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  const std::vector<int> numbers(count, file.get());
  std::memcpy(CMSG_DATA(header), numbers.data(), count * sizeof(int));
  const Descriptor socket = connect_to(SOCK_SEQPACKET, said[0]);
  std::this_thread::sleep_for(pause);
  ASSERT_GT(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), 0);
}

/// The timer's signals come to this thread while it waits for what its peer has yet to send.
TEST(Descriptors, AreTakenWhereSignalsInterrupt) {
  test::Processes processes;
  processes.start(0, [](int) {
    DescriptorExchange rank_0(0, {0, 1});
    DescriptorExchange rank_1(1, {0, 1});
    const std::vector<std::string> offers = {rank_0.offer(0), rank_1.offer(1)};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    const std::jthread peer([&] { send_as_rank_1(offers[0], 1, std::chrono::milliseconds(50)); });
    pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    std::string taken;
    const std::string error = test::error_of([&] {
      rank_0.complete(offers, {}, nobody_is_gone,
                      [&](int, const std::vector<Descriptor>& files) { taken = content_of(files.at(0)); });
    });
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    return error + taken;
  });
  EXPECT_EQ(processes.wait().front().said, "a stranger's");
}

/// Nobody who keeps to the rules sends more than he has said, and nothing of what he sends stays open.
TEST(Descriptors, OfAMessageWithTooManyNoneIsKept) {
  for (const std::size_t count : {2, 3, 4}) {
    const std::size_t before = test::open_files();
    GivenFiles given;
    EXPECT_EQ(hand_over({1, 1}, given, [&](const std::string& offer) { send_as_rank_1(offer, count); }), "");
    EXPECT_EQ(given, all_of({1, 1})) << count;
    EXPECT_EQ(test::open_files(), before) << count;
  }
}

/// Who has learned the secret, and is of another user.
TEST(Descriptors, OfAnotherUserAreNotTaken) {
  if (!test::may_become_another_user()) GTEST_SKIP() << "only root may become another user";
  GivenFiles given;
  const auto send_as_stranger = [](const std::string& offer) {
    test::Processes stranger;
    stranger.start(0, [&](int) {
      if (test::become_another_user()) send_as_rank_1(offer, 1);
      return std::string("sent");
    });
    EXPECT_EQ(stranger.wait().front().said, "sent");
  };
  EXPECT_EQ(hand_over({1, 1}, given, send_as_stranger), "");
  EXPECT_EQ(given, all_of({1, 1}));
}

TEST(Descriptors, AreNotHandedToAnotherUser) {
  if (!test::may_become_another_user()) GTEST_SKIP() << "only root may become another user";
  const std::string name = test::new_job();
  test::Processes stranger;
  stranger.start(0, [&](int) {
    test::become_another_user();
    const Descriptor listener = listen_at(SOCK_SEQPACKET, name, 4);
    std::this_thread::sleep_for(std::chrono::minutes(1));
    return std::string();
  });
  while (connect_to(SOCK_SEQPACKET, name).get() < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  DescriptorExchange rank_0(0, {0, 1});
  const std::vector<std::string> offers = {rank_0.offer(1), pack({name, "secret", "0"})};
  const std::vector<Descriptor> own = files_with({""});
  EXPECT_EQ(test::error_of([&] { rank_0.complete(offers, own, nobody_is_gone, {}); }),
            "rank 0 cannot hand its memory to rank 1: another user's process listens in its place");
}

TEST(Descriptors, SayWhyTheyCannotBeHandedOver) {
  DescriptorExchange rank_0(0, {0, 1});
  std::string offer_of_one_gone;
  {
    const DescriptorExchange rank_1(1, {0, 1});
    offer_of_one_gone = rank_1.offer(0);
  }
  const std::vector<std::string> offers = {rank_0.offer(1), offer_of_one_gone};
  const std::vector<Descriptor> own = files_with({""});
  EXPECT_EQ(test::error_of([&] { rank_0.complete(offers, own, nobody_is_gone, {}); }),
            "rank 0 cannot hand its memory to rank 1: Connection refused");
}

}  // namespace
}  // namespace iris::descriptors_test
