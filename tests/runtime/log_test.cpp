// What the libraries say of what they do, and to whom. What the environment says is tested by tests/cli/log_test.cpp:
// it is asked once.

#include "iris/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/system/log.hpp"

namespace iris::log_test {
namespace {

using Lines = std::vector<std::string>;

/// All that is said while it lives, as lines.
class Heard {
 public:
  explicit Heard(LogLevel least = LogLevel::info) {
    set_log_sink([this](const LogMessage& message) { lines_.push_back(to_line(message)); }, least);
  }
  ~Heard() { set_log_sink({}); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  Lines sorted() const {
    Lines lines = lines_;
    std::ranges::sort(lines);
    return lines;
  }

 private:
  Lines lines_;  // the sink is called by one thread at a time
};

TEST(Log, LinesSayWhoSpeaks) {
  EXPECT_EQ(to_line({.level = LogLevel::warning, .rank = 2, .world = 8, .text = "words"}),
            "[iris] [2/8] warning: words");
  EXPECT_EQ(to_line({.level = LogLevel::debug, .text = "words"}), "[iris] debug: words");
}

TEST(Log, ASinkGetsItsLevelAndAbove) {
  const auto say_all = [] {
    for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
      log(level, [] { return std::string("words"); });
    }
  };
  {
    const Heard heard(LogLevel::warning);
    say_all();
    EXPECT_EQ(heard.sorted(), (Lines{"[iris] error: words", "[iris] warning: words"}));
  }
  const Heard nothing(LogLevel::off);
  say_all();
  EXPECT_EQ(nothing.sorted(), Lines());
}

/// Words are made for those who listen alone.
TEST(Log, OffMakesNoWords) {
  int made = 0;
  const auto say = [&] {
    log(LogLevel::info, [&] {
      ++made;
      return std::string("words");
    });
  };
  {
    const Heard heard(LogLevel::error);
    say();
  }
  testing::internal::CaptureStderr();
  say();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "after the sink is gone";
  EXPECT_EQ(made, 0);
  {
    const Heard heard;
    say();
  }
  EXPECT_EQ(made, 1);
}

TEST(Log, ASinkIsCalledByOneThreadAtATime) {
  std::atomic<int> inside = 0;
  int most = 0;
  int count = 0;
  set_log_sink([&](const LogMessage&) {
    most = std::max(most, ++inside);
    ++count;
    --inside;
  });
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([] {
        for (int i = 0; i < 1000; ++i) log(LogLevel::info, [] { return std::string("words"); });
      });
    }
  }
  set_log_sink({});
  EXPECT_EQ(most, 1);
  EXPECT_EQ(count, 4000);
}

TEST(Log, ASinkMayThrowAndUseTheLibrary) {
  int count = 0;
  set_log_sink([&](const LogMessage&) {
    ++count;
    World({.size = 1, .heap_bytes = 4096}).run([](Context&) {});  // says something, which nobody hears
    throw std::runtime_error("a sink that fails");
  });
  log(LogLevel::info, [] { return std::string("words"); });
  log(LogLevel::info, [] { return std::string("words"); });
  set_log_sink({});
  EXPECT_EQ(count, 2);
}

/// Makes a world, loads an operation and lets rank 1 fail.
void use(World& world) {
  try {
    world.run([](Context& context) {
      const Operation sum(context, test::host_operation("sum_of_three", context.num_ranks()), {{"n", 16}});
      context.barrier();
      if (context.rank() == 1) throw std::runtime_error("no data");
    });
  } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what is said of it is what counts
  }
}

std::string loaded_on(int rank) {
  return "[iris] [" + std::to_string(rank) + "/3] info: loaded sum_of_three: by_hand, " +
         std::to_string(layout_of(test::host_operation("sum_of_three", 3).manifest, {{"n", 16}}).total_bytes) +
         " bytes on the heap; sum_of_three with 2 blocks of 32 threads";
}

TEST(Log, RanksThatAreThreadsSpeakForThemselves) {
  const Heard heard;
  {
    World world({.size = 3, .heap_bytes = 65536, .heap_limit = 65536});
    use(world);
  }
  EXPECT_EQ(heard.sorted(),
            (Lines{loaded_on(0), "[iris] [1/3] error: the rank has failed: no data", loaded_on(1), loaded_on(2),
                   "[iris] info: a world of 3 ranks on host, heaps of 65536 bytes as threads of this "
                   "process; CPU (fibers) (CPU, rank 0); CPU (fibers) (CPU, rank 1); CPU (fibers) (CPU, rank 2)"}));
}

TEST(Log, RanksThatAreProcessesSpeakForThemselves) {
  const auto outcomes = test::run_ranks(3, [](int) {
    const Heard heard;
    {
      World world = World::join({.heap_bytes = 65536, .heap_limit = 1 << 20});
      use(world);
    }
    std::string said;
    for (const std::string& line : heard.sorted()) said += line + "\n";
    return said;
  });
  for (int rank = 0; rank < 3; ++rank) {
    const std::string& said = outcomes[static_cast<std::size_t>(rank)].said;
    const std::string name = "[iris] [" + std::to_string(rank) + "/3] ";
    EXPECT_NE(
        said.find(name + "info: a world of 3 ranks on host, heaps of 65536 bytes that grow to 1048576 as processes, "
                         "shared by memory files; this is process "),
        std::string::npos)
        << said;
    EXPECT_NE(said.find(loaded_on(rank) + "\n"), std::string::npos) << said;
    EXPECT_EQ(said.find("error: the rank has failed: no data") != std::string::npos, rank == 1) << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), rank == 1 ? 3 : 2) << said;
  }
}

TEST(Log, TellsOfRanksThatAreLost) {
  const auto outcomes = test::run_ranks(2, [](int number) {
    const Heard heard(LogLevel::warning);
    try {
      World world = World::join({.heap_bytes = 65536});
      world.run([&](Context& context) {
        if (number == 1) ::kill(::getpid(), SIGKILL);
        context.barrier();
      });
    } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what is said of it is what counts
    }
    std::string said;
    for (const std::string& line : heard.sorted()) said += line + "\n";
    return said;
  });
  EXPECT_NE(outcomes[0].said.find("[iris] [0/2] warning: rank 1 (process "), std::string::npos) << outcomes[0].said;
  EXPECT_NE(outcomes[0].said.find("has vanished"), std::string::npos) << outcomes[0].said;
}

/// A rank that ends as it should is nothing to warn of.
TEST(Log, TellsNothingOfRanksThatEnd) {
  const auto outcomes = test::run_ranks(2, [](int) {
    const Heard heard(LogLevel::warning);
    {
      World::join({.heap_bytes = 65536}).run([](Context& context) { context.barrier(); });
    }
    return std::to_string(heard.sorted().size());
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "0");
}

}  // namespace
}  // namespace iris::log_test
