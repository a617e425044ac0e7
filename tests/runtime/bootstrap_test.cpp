// How processes find one another: what launchers say, and who is let in.

#include "iris/bootstrap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "error_words.hpp"
#include "processes.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/channel.hpp"
#include "runtime/world/processes/hub.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/member.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris::bootstrap_test {
namespace {

using test::error_of;
using Variables = std::map<std::string, std::string>;

LaunchedProcess launched(const Variables& variables) {
  const auto self = launched_process([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  return self.value_or(LaunchedProcess{.by = "nobody", .job = ""});
}

const Variables torchrun = {{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "4"},
                            {"LOCAL_WORLD_SIZE", "8"},
                            {"MASTER_ADDR", "localhost"},
                            {"MASTER_PORT", "29500"},
                            {"TORCHELASTIC_RUN_ID", "none"},
                            {"TORCHELASTIC_RESTART_COUNT", "0"}};
const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                            {"PMIX_NAMESPACE", "prterun-1"}};

Variables changed(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(Launcher, TellsWhoThisProcessIs) {
  const LaunchedProcess torch = launched(torchrun);
  EXPECT_EQ(torch.rank, 5);
  EXPECT_EQ(torch.size, 8);
  EXPECT_EQ(torch.local_rank, 4);
  EXPECT_EQ(torch.by, "torchrun");
  const LaunchedProcess mpi = launched(open_mpi);
  EXPECT_EQ(mpi.rank, 1);
  EXPECT_EQ(mpi.size, 3);
  EXPECT_EQ(mpi.by, "Open MPI");
  EXPECT_EQ(launched({{"HOME", "/"}}).by, "nobody");
  EXPECT_EQ(launched({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}).rank, 1);
}

TEST(Launcher, TellsJobsApart) {
  const std::string job = launched(torchrun).job;
  EXPECT_EQ(job, launched(changed(torchrun, "RANK", "0")).job);
  EXPECT_NE(job, launched(changed(torchrun, "MASTER_PORT", "29501")).job);
  EXPECT_NE(job, launched(changed(torchrun, "TORCHELASTIC_RUN_ID", "other")).job);
  EXPECT_NE(job, launched(changed(torchrun, "TORCHELASTIC_RESTART_COUNT", "1")).job) << "those before may linger";
  EXPECT_NE(launched(open_mpi).job, launched(changed(open_mpi, "PMIX_NAMESPACE", "prterun-2")).job);
}

/// mpirun starts a torchrun on each host: the innermost counts.
TEST(Launcher, OfSeveralTheInnermostCounts) {
  Variables both = torchrun;
  both.insert(open_mpi.begin(), open_mpi.end());
  EXPECT_EQ(launched(both).by, "torchrun");
  both["IRISGEN_JOB"] = "a";
  both["IRISGEN_RANK"] = "0";
  both["IRISGEN_WORLD_SIZE"] = "2";
  EXPECT_EQ(launched(both).by, "irisgen");
}

TEST(Launcher, SaysWhatMakesNoSense) {
  const auto words = [](const Variables& variables) { return error_of([&] { launched(variables); }); };
  EXPECT_EQ(words(changed(torchrun, "RANK", "five")),
            "torchrun started this process, but RANK is 'five', which is not a count");
  EXPECT_NE(words(changed(torchrun, "RANK", "-1")).find("RANK is '-1'"), std::string::npos);
  EXPECT_EQ(words(changed(torchrun, "RANK", "8")), "torchrun says that this is rank 8 of 8 (RANK, WORLD_SIZE)");
  EXPECT_EQ(words(changed(torchrun, "LOCAL_WORLD_SIZE", "4")),
            "the ranks of one world are processes of one host, but torchrun started 8 and only 4 of them on this one "
            "(LOCAL_WORLD_SIZE)");
  EXPECT_EQ(words({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "the program that set RANK started this process, but MASTER_PORT is not set, which tells its jobs apart");
}

LaunchedProcess member(int rank, int size, const std::string& job) {
  return {.rank = rank, .size = size, .local_rank = rank, .by = "the test", .job = job};
}

/// Begins with all ranks as threads: which process they are of does not matter here.
std::string meet(int rank, int size, const std::string& job, const ProcessOptions& options) {
  return error_of([&] {
    Member self(member(rank, size, job), job, options);
    self.all_gather("", "a call");
  });
}

constexpr ProcessOptions impatient{.patience = std::chrono::milliseconds(1000)};

TEST(Bootstrap, SaysWhoHasNotCome) {
  const std::string job = test::new_job();
  std::string of_rank_1;
  std::thread rank_1([&] { of_rank_1 = meet(1, 4, job, impatient); });
  const std::string of_rank_0 = meet(0, 4, job, impatient);
  rank_1.join();
  EXPECT_EQ(of_rank_0, "rank 0 of 4 cannot begin: ranks 2, 3 have not come within 1 s");
  EXPECT_NE(of_rank_1.find("rank 1 of 4"), std::string::npos) << of_rank_1;
}

TEST(Bootstrap, SaysThatRankZeroHasNotCome) {
  EXPECT_EQ(meet(1, 2, test::new_job(), impatient),
            "rank 1 has waited 1 s for rank 0, which the test says is on this host, and which has not come");
}

TEST(Bootstrap, RefusesWhoSaysOtherwise) {
  const std::string job = test::new_job();
  std::vector<std::string> words(4);
  std::thread rank_0([&] { words[0] = meet(0, 2, job, {}); });
  words[2] = meet(1, 3, job, {});
  LaunchedProcess other = member(1, 2, "another job");
  words[3] = error_of([&] { Member(other, job, {}); });
  words[1] = meet(1, 2, job, {});
  rank_0.join();
  EXPECT_EQ(words[0] + words[1], "") << "those who belong together meet";
  EXPECT_EQ(words[2], "rank 1 of 3 is refused by rank 0: it was started as one of 3 ranks, rank 0 as one of 2");
  EXPECT_EQ(words[3], "rank 1 of 2 is refused by rank 0: it belongs to another job");
}

TEST(Bootstrap, RefusesASecondOfTheSameRank) {
  const std::string job = test::new_job();
  std::thread rank_0([&] { meet(0, 2, job, {}); });
  Member first(member(1, 2, job), job, {});
  const std::string again = error_of([&] { Member(member(1, 2, job), job, impatient); });
  first.all_gather("", "a call");
  rank_0.join();
  // Refused, or nobody listens any more once all have come.
  EXPECT_NE(again.find("rank 1"), std::string::npos) << again;
}

/// Strangers connect, talk nonsense, claim to send gigabytes, say nothing, or leave: the world begins all the same.
TEST(Bootstrap, IsNotDisturbedByStrangers) {
  const std::string job = test::new_job();
  std::string of_rank_0;
  std::thread rank_0([&] { of_rank_0 = meet(0, 2, job, {}); });
  Descriptor silent(-1);
  while (silent.get() < 0) silent = connect_to(SOCK_STREAM, job);
  for (const std::string& nonsense :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1 << 16, '\xff'), std::string(24, '\0'), std::string()}) {
    const Descriptor stranger = connect_to(SOCK_STREAM, job);
    ASSERT_GE(stranger.get(), 0);
    ::send(stranger.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
  }
  EXPECT_EQ(meet(1, 2, job, {}), "");
  rank_0.join();
  EXPECT_EQ(of_rank_0, "");
}

/// Sockets have no permissions, and their names can be guessed.
class BootstrapAmongUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::may_become_another_user()) GTEST_SKIP() << "only root may become another user";
  }
  /// A process of another user.
  void start_stranger(const std::function<std::string()>& body) {
    strangers_.start(0, [&](int) { return test::become_another_user() ? body() : std::string("nobody else"); });
  }
  test::Processes strangers_;
  const std::string job_ = test::new_job();
};

TEST_F(BootstrapAmongUsers, SaysThatAnotherHasTakenTheName) {
  start_stranger([&] {
    const Descriptor listener = listen_at(SOCK_STREAM, job_, 16);
    std::this_thread::sleep_for(std::chrono::minutes(1));
    return std::string();
  });
  while (connect_to(SOCK_STREAM, job_).get() < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(meet(1, 2, job_, impatient),
            "another user's process listens where rank 0 of this job should; start the job anew");
  test::expect_part(meet(0, 2, job_, impatient),
                    "rank 0 cannot listen for the others: another process of this job's name has done so for 1 s");
}

TEST_F(BootstrapAmongUsers, DoesNotListenToAnother) {
  start_stranger([&] {
    Descriptor socket(-1);
    while (socket.get() < 0) socket = connect_to(SOCK_STREAM, job_);
    Channel channel(std::move(socket));
    channel.queue({.kind = Message::Kind::hello, .bytes = pack_hello(job_, 2, 1)});
    std::vector<Message> answers;
    while (channel.send() && channel.receive(answers)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::to_string(answers.size()) + " answers";
  });
  std::string of_rank_0;
  std::thread rank_0([&] { of_rank_0 = meet(0, 2, job_, {}); });
  EXPECT_EQ(strangers_.wait().front().said, "0 answers");
  EXPECT_EQ(meet(1, 2, job_, {}), "");
  rank_0.join();
  EXPECT_EQ(of_rank_0, "");
}

/// Where no descriptor is left for those who wait to be let in, rank 0 neither gives up nor spins.
TEST(Bootstrap, WaitsForDescriptors) {
  const std::string job = test::new_job();
  test::Processes processes;
  processes.start(0, [&](int) {
    std::string of_rank_0;
    std::thread rank_0([&] { of_rank_0 = meet(0, 2, job, {}); });
    Descriptor silent(-1);
    while (silent.get() < 0) silent = connect_to(SOCK_STREAM, job);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // rank 0 has a connection of its own by then
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::vector<Descriptor> all;
    for (int file = 0; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) all.emplace_back(file);
    all.pop_back();
    const Descriptor waiting = connect_to(SOCK_STREAM, job);
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    const double busy_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    all.clear();
    const std::string of_rank_1 = meet(1, 2, job, {});
    rank_0.join();
    return of_rank_0 + of_rank_1 + (waiting.get() >= 0 && busy_s < 0.1 ? "" : " is busy: " + std::to_string(busy_s));
  });
  const test::ProcessOutcome outcome = processes.wait().front();
  EXPECT_EQ(outcome.said, "");
  EXPECT_EQ(outcome.code, 0);
}

/// A hub that says what the test wants it to.
class ScriptedHub {
 public:
  explicit ScriptedHub(const std::string& job) : listener_(listen_at(SOCK_STREAM, job, 1)) {}

  void accept() { channel_.emplace(Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC))); }
  void say(const Message& message) {
    channel_->queue(message);
    channel_->send();
  }
  /// The next message of that kind; what comes before it is dropped.
  Message await(Message::Kind kind) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      channel_->receive(heard_);
      const auto found = std::ranges::find(heard_, kind, &Message::kind);
      if (found == heard_.end()) continue;
      const Message message = *found;
      heard_.erase(heard_.begin(), found + 1);
      return message;
    }
  }

 private:
  Descriptor listener_;
  std::optional<Channel> channel_;
  std::vector<Message> heard_;
};

/// A rank gives a call up when it learns that another has ended; it may have been stopped when the answer was sent.
TEST(Bootstrap, TakesNoAnswerToACallThatItHasGivenUp) {
  const std::string job = test::new_job();
  ScriptedHub hub(job);
  std::atomic<bool> has_ended = false;
  std::string first;
  std::vector<std::string> second;
  std::thread rank_1([&] {
    const auto self = std::make_shared<Member>(member(1, 2, job), job, ProcessOptions{});
    const auto absence = [&](int) { return std::string(has_ended ? "rank 0 has ended" : ""); };
    const auto group = self->split({.ranks = {0, 1}, .name = "a group", .absence = absence});
    first = error_of([&] { group->all_gather("", "the first"); });
    has_ended = false;
    second = group->all_gather("", "the second");
  });
  hub.accept();
  hub.say({.kind = Message::Kind::welcome, .bytes = pack({"1", "2"})});
  const Message given_up = hub.await(Message::Kind::contribute);
  has_ended = true;
  hub.say({.kind = Message::Kind::notice});  // upon which the rank looks who is there
  EXPECT_EQ(hub.await(Message::Kind::withdraw).call, given_up.call);
  const Message next = hub.await(Message::Kind::contribute);
  EXPECT_NE(next.call, given_up.call);
  hub.say({.kind = Message::Kind::deadlock, .call = given_up.call, .text = "too late"});
  hub.say({.kind = Message::Kind::result, .call = given_up.call, .bytes = pack({"too", "late"})});
  hub.say({.kind = Message::Kind::result, .call = next.call, .bytes = pack({"in", "time"})});
  rank_1.join();
  EXPECT_EQ(first, "the first cannot be done: rank 0 has ended");
  EXPECT_EQ(second, (std::vector<std::string>{"in", "time"}));
}

TEST(Bootstrap, CarriesWhatIsLongAndWhatIsNotText) {
  const std::string job = test::new_job();
  std::vector<std::string> sent = {std::string(3, '\0'), std::string(20'000'000, '\0'), std::string(3, '\0')};
  for (unsigned rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < sent[rank].size(); ++i) sent[rank][i] = static_cast<char>(i * 31 + rank);
  }
  std::vector<int> right(3);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      Member self(member(rank, 3, job), job, {});
      for (int round = 0; round < 3; ++round) {
        const auto own = static_cast<std::size_t>(rank);
        if (self.all_gather(sent[own], "a call") == sent) ++right[own];
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(right, (std::vector<int>{3, 3, 3}));
}

}  // namespace
}  // namespace iris::bootstrap_test
