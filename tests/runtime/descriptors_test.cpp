// How ranks that are processes hand one another open files. Here they are threads: which process they are of does not
// matter.

#include "runtime/world/processes/descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "runtime/world/packing.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris {
namespace {

std::string nobody_is_gone(int /*rank*/) {
  return {};
}

Descriptor file_with(const std::string& content) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(file.get(), content));
  return file;
}

std::string content_of(const Descriptor& file) {
  if (file.get() < 0) return "none";
  ::lseek(file.get(), 0, SEEK_SET);
  return read_all(file.get()).value_or("unreadable");
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// What two ranks are given; `meanwhile` is done when the offer of rank 0 is known.
std::vector<std::string> hand_over(const std::function<void(const std::string& offer)>& meanwhile) {
  std::vector<std::string> given;
  const Descriptor first = file_with("the first's");
  const Descriptor second = file_with("the second's");
  DescriptorExchange rank_0(0, {0, 1});
  DescriptorExchange rank_1(1, {0, 1});
  const std::vector<std::string> offers = {rank_0.offer(true), rank_1.offer(true)};
  meanwhile(offers[0]);
  std::vector<Descriptor> of_rank_1;
  std::thread other([&] { of_rank_1 = rank_1.complete(offers, second, nobody_is_gone); });
  std::vector<Descriptor> of_rank_0 = rank_0.complete(offers, first, nobody_is_gone);
  other.join();
  for (const Descriptor& file : of_rank_0) given.push_back(content_of(file));
  for (const Descriptor& file : of_rank_1) given.push_back(content_of(file));
  return given;
}

const std::vector<std::string> all_of_both = {"the first's", "the second's", "the first's", "the second's"};

TEST(Descriptors, AreHandedToEveryRank) {
  EXPECT_EQ(hand_over([](const std::string&) {}), all_of_both);
}

/// Sends `count` descriptors in one message to whoever made the offer, as if rank 1 did.
void send_as_rank_1(const std::string& offer, std::size_t count) {
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
  ASSERT_GT(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), 0);
}

/// Nobody who keeps to the rules sends more than one, and nothing of what he sends stays open.
TEST(Descriptors, OfAMessageWithSeveralNoneIsKept) {
  for (const std::size_t count : {2, 3, 4}) {
    const std::ptrdiff_t before = open_files();
    EXPECT_EQ(hand_over([&](const std::string& offer) { send_as_rank_1(offer, count); }), all_of_both) << count;
    EXPECT_EQ(open_files(), before) << count;
  }
}

TEST(Descriptors, SayWhyTheyCannotBeHandedOver) {
  DescriptorExchange rank_0(0, {0, 1});
  std::string offer_of_one_gone;
  {
    const DescriptorExchange rank_1(1, {0, 1});
    offer_of_one_gone = rank_1.offer(false);
  }
  try {
    rank_0.complete(std::vector{rank_0.offer(true), offer_of_one_gone}, file_with(""), nobody_is_gone);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "rank 0 cannot hand its memory to rank 1: Connection refused");
  }
}

}  // namespace
}  // namespace iris
