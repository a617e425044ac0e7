// `irisgen run --processes`, on the CPU.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cli/program.hpp"

namespace irisgen::test::processes_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    if (!runs_on_cpu()) GTEST_SKIP() << "kernels do not run on the CPU here: see irisgen doctor";
    write_file(folder_.file("spec.yaml"), small_spec("3"));
  }

  Outcome run(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment = {}) const {
    arguments.insert(arguments.begin(), {"run", "spec.yaml"});
    return irisgen(arguments, {.folder = folder_.path(), .environment = environment});
  }

  /// By torchrun, each rank with arguments of its own beside `--processes`.
  std::vector<Outcome> launched(const std::function<std::vector<std::string>(int rank)>& arguments_of) const {
    std::vector<Outcome> outcomes(3);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        std::vector<std::string> arguments = arguments_of(rank);
        arguments.emplace_back("--processes");
        outcomes[static_cast<std::size_t>(rank)] = run(arguments, {{"RANK", std::to_string(rank)},
                                                                   {"WORLD_SIZE", "3"},
                                                                   {"LOCAL_RANK", std::to_string(rank)},
                                                                   {"LOCAL_WORLD_SIZE", "3"},
                                                                   {"MASTER_ADDR", "localhost"},
                                                                   {"MASTER_PORT", "test" + std::to_string(::getpid())},
                                                                   {"TORCHELASTIC_RUN_ID", "none"}});
      });
    }
    for (std::thread& rank : ranks) rank.join();
    return outcomes;
  }

  TemporaryFolder folder_;
};

/// Without what differs from run to run.
Json lasting(Json outcome) {
  for (const char* time : {"build_ms", "setup_ms", "launch_ms", "verify_ms", "from_cache"}) outcome.erase(time);
  return outcome;
}

TEST_F(Processes, ReportAsThreadsDo) {
  const Outcome threads = run({"--json", "--repeat", "5"});
  const Outcome processes = run({"--json", "--repeat", "5", "--processes"});
  ASSERT_EQ(processes.code, 0) << processes.out << processes.err;
  EXPECT_EQ(lasting(Json::parse(processes.out)[0]), lasting(Json::parse(threads.out)[0]));
  EXPECT_EQ(processes.err, "");
}

TEST_F(Processes, WriteTheOutputsOfAllRanks) {
  ASSERT_EQ(run({"--output", "output=threads{rank}.npy"}).code, 0);
  ASSERT_EQ(run({"--output", "output=processes{rank}.npy", "--processes"}).code, 0);
  for (int rank = 0; rank < 3; ++rank) {
    const std::string name = std::to_string(rank) + ".npy";
    EXPECT_EQ(read_file(folder_.file("processes" + name)), read_file(folder_.file("threads" + name)));
  }
}

TEST_F(Processes, OfALauncherMeet) {
  const std::vector<Outcome> outcomes = launched([](int) { return std::vector<std::string>{"--json"}; });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcomes[0].out)[0]["elements"], 3003);
  EXPECT_EQ(outcomes[1].out + outcomes[2].out, "") << "rank 0 alone prints";
}

/// Each makes its own data: what two of them take for the third's would be another's.
TEST_F(Processes, OfDifferentSeedsAreAllTold) {
  const std::vector<Outcome> outcomes =
      launched([](int rank) { return std::vector<std::string>{"--seed", rank == 1 ? "8" : "7"}; });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcomes[0].err.find("ranks 0, 2: small with seed 7; rank 1: small with seed 8"), std::string::npos)
      << outcomes[0].err;
}

/// In the environment of a real mpirun, not in one that a test has made.
TEST_F(Processes, OfMpirunMeet) {
  const std::string mpirun = IRISGEN_MPIRUN;
  if (mpirun.empty()) GTEST_SKIP() << "no mpirun: apt-get install openmpi-bin libopenmpi-dev";
  const Surroundings here = {.folder = folder_.path(),
                             .environment = {{"XDG_CACHE_HOME", IRISGEN_TEST_CACHE},
                                             {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                             {"OMPI_MCA_rmaps_base_oversubscribe", "1"}}};
  const auto start = [&](const char* count) {
    return run_program(mpirun, {"-n", count, IRISGEN_PROGRAM, "run", "spec.yaml", "--processes", "--json"}, here);
  };
  const Outcome outcome = start("3");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lasting(Json::parse(outcome.out)[0]), lasting(Json::parse(run({"--json"}).out)[0]));

  const Outcome too_few = start("2");
  EXPECT_NE(too_few.code, 0);
  EXPECT_NE(too_few.err.find("one of 2 processes, but no kernel is described for a world of 2"), std::string::npos)
      << too_few.err;
}

TEST_F(Processes, SayWhatIsWrong) {
  write_file(folder_.file("spec.yaml"), small_spec("[2, 3]"));
  const Outcome both = run({"--processes"});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("choose with --world"), std::string::npos) << both.err;

  const Outcome other =
      run({"--processes"}, {{"IRISGEN_JOB", "j"}, {"IRISGEN_RANK", "0"}, {"IRISGEN_WORLD_SIZE", "5"}});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("one of 5 processes, but no kernel is described for a world of 5"), std::string::npos)
      << other.err;

  write_file(folder_.file("spec.yaml"), small_spec("3"));
  const Outcome hosts =
      run({"--processes"},
          {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(hosts.code, 1);
  EXPECT_NE(hosts.err.find("only 2 of them on this one"), std::string::npos) << hosts.err;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// The program with so many launches that it is still at work when something happens to it.
class BusyProcesses : public Processes {
 protected:
  void start() {
    ASSERT_EQ(run({}).code, 0);  // compiled once, by no rank
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const Outcome outcome = run({"--processes", "--repeat", "1000000"});
      write_file(folder_.file("words"), outcome.err);
      ::_exit(outcome.code);
    }
    while (ranks().size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  /// The test's child runs the program, which starts the ranks.
  std::vector<pid_t> ranks() const {
    const std::vector<pid_t> programs = children_of(process_);
    return programs.empty() ? programs : children_of(programs.front());
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void TearDown() override {
    if (process_ > 0) ::kill(process_, SIGKILL);
    if (process_ > 0) wait();
  }

  pid_t process_ = 0;
};

TEST_F(BusyProcesses, AKilledRankEndsAllAndIsNamed) {
  start();
  const std::vector<pid_t> started = ranks();
  ::kill(started[2], SIGKILL);
  EXPECT_EQ(wait(), 1);
  const std::string words = read_file(folder_.file("words"));
  EXPECT_NE(words.find("rank 2 (process " + std::to_string(started[2]) + ") has vanished"), std::string::npos) << words;
  for (const pid_t rank : started) EXPECT_NE(::kill(rank, 0), 0);
}

TEST_F(BusyProcesses, AKilledRankZeroIsNamedByAnother) {
  start();
  const std::vector<pid_t> started = ranks();
  ::kill(started[0], SIGKILL);
  EXPECT_EQ(wait(), 1);
  const std::string words = read_file(folder_.file("words"));
  EXPECT_NE(words.find("rank 0 was ended by signal 9"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 0 (process " + std::to_string(started[0]) + ") has vanished"), std::string::npos) << words;
}

/// The contract is 5 s; a busy machine may add to that.
TEST_F(BusyProcesses, AStoppedRankEndsAllSoonAndIsNamed) {
  start();
  const std::vector<pid_t> started = ranks();
  const auto begin = std::chrono::steady_clock::now();
  ::kill(started[1], SIGSTOP);
  EXPECT_EQ(wait(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(12));
  const std::string words = read_file(folder_.file("words"));
  EXPECT_NE(words.find("rank 1 (process " + std::to_string(started[1]) + ")"), std::string::npos) << words;
  for (const pid_t rank : started) EXPECT_NE(::kill(rank, 0), 0);
}

TEST_F(BusyProcesses, EndWithTheProgramThatStartedThem) {
  start();
  const std::vector<pid_t> started = ranks();
  ::kill(children_of(process_).front(), SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
  const auto any_lives = [&] { return std::ranges::any_of(started, [](pid_t rank) { return ::kill(rank, 0) == 0; }); };
  // A killed process may be there until its parent, the system's first, has looked at it.
  for (int i = 0; i < 2000 && any_lives(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const pid_t rank : started) {
    std::ifstream state("/proc/" + std::to_string(rank) + "/stat");
    const std::string line{std::istreambuf_iterator<char>(state), {}};
    EXPECT_TRUE(line.empty() || line.find(") Z ") != std::string::npos) << line;
  }
}

}  // namespace
}  // namespace irisgen::test::processes_test
