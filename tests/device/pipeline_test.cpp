#include "iris/device/pipeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::pipeline_test {
namespace {

template <i32 threads_>
struct BlockOf {
  static constexpr i32 world = 2;
  static constexpr i32 blocks = 1;
  static constexpr i32 threads = threads_;
};

/// Writes down what it is asked for. Chunks below `come` are there at once; one that is `late` never comes.
struct Stage {
  std::vector<std::string>& log;
  i64 come = 100;
  i64 late = 100;

  bool has_come(i64 chunk) const {
    log.push_back("look " + std::to_string(chunk));
    return chunk < come;
  }
  bool wait(i64 chunk) const {
    log.push_back("wait " + std::to_string(chunk));
    return chunk < late;
  }
  void move(i64 chunk, ThreadGroup threads) const {
    log.push_back("move " + std::to_string(chunk) + " as " + std::to_string(threads.index) + " of " +
                  std::to_string(threads.size));
  }
  void announce(i64 chunk, i32 lane) const {
    log.push_back("announce " + std::to_string(chunk) + " as " + std::to_string(lane));
  }
};

/// The same for two threads that look.
struct StageOfTwo : Stage {
  static constexpr i32 looking_threads = 2;
};

class PassOn : public ::testing::Test {
 protected:
  /// What one thread of a block of `threads` does, alone.
  template <i32 threads, typename StageType = Stage>
  std::vector<std::string> log_of(u32 thread, i64 chunks, i64 come = 100, i64 late = 100) {
    std::vector<std::string> log;
    const StageType stage = {log, come, late};
    engine_.run(0, thread, [&] { passed_ = pass_on<BlockOf<threads>>(chunks, stage); });
    return log;
  }

  FakeEngine engine_;
  bool passed_ = false;
};

using Log = std::vector<std::string>;

TEST_F(PassOn, LetsAllButTheLastWaveMove) {
  EXPECT_EQ(log_of<4>(1, 2), (Log{"move 0 as 1 of 3", "move 1 as 1 of 3"}));
  EXPECT_TRUE(passed_);
}

TEST_F(PassOn, LooksForChunksWithTheFirstThreadWhichWaitsForWhatIsNotThere) {
  EXPECT_EQ(log_of<4>(0, 2, 1), (Log{"look 0", "move 0 as 0 of 3", "look 1", "wait 1", "move 1 as 0 of 3"}));
  EXPECT_TRUE(passed_);
}

TEST_F(PassOn, LooksWithAsManyThreadsAsTheStageSays) {
  for (const u32 thread : {0, 1}) {
    EXPECT_EQ((log_of<4, StageOfTwo>(thread, 1, 0).front()), "look 0");
    EXPECT_EQ((log_of<4, StageOfTwo>(thread, 1, 0).at(1)), "wait 0");
  }
  EXPECT_EQ((log_of<4, StageOfTwo>(2, 1, 0)), Log{"move 0 as 2 of 3"});
}

TEST_F(PassOn, AnnouncesWithTheLastWaveWhatTheOthersHaveMoved) {
  EXPECT_EQ(log_of<4>(3, 3), (Log{"announce 0 as 0", "announce 1 as 0", "announce 2 as 0"}));
  EXPECT_EQ(engine_.syncs, 2 * 3 + 1) << "two before each chunk, one behind the last";
}

/// Before it waits: who gets the chunk must not wait for the next one, too.
TEST_F(PassOn, AnnouncesBeforeItWaits) {
  EXPECT_EQ(log_of<1>(0, 2, 0), (Log{"look 0", "wait 0", "move 0 as 0 of 1", "look 1", "announce 0 as 0", "wait 1",
                                     "move 1 as 0 of 1", "announce 1 as 0"}));
}

TEST_F(PassOn, EndsWhereAChunkIsLate) {
  EXPECT_EQ(log_of<1>(0, 3, 1, 1), (Log{"look 0", "move 0 as 0 of 1", "look 1", "announce 0 as 0", "wait 1"}));
  EXPECT_FALSE(passed_);
}

TEST_F(PassOn, DoesNothingWithoutChunks) {
  EXPECT_EQ(log_of<4>(0, 0), Log{});
  EXPECT_EQ(log_of<4>(3, 0), Log{});
  EXPECT_TRUE(passed_);
}

}  // namespace
}  // namespace iris::device::pipeline_test
