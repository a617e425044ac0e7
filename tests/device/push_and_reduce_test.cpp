#include "iris/device/push_and_reduce.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::push_and_reduce_test {
namespace {

struct Config {
  using Element = f32;
  using Result = f32;
  using Accumulate = f32;
  using Operation = Sum;
  static constexpr i32 world = 2;
  static constexpr i32 blocks = 3;
  static constexpr i32 comm_blocks = 2;
  static constexpr i32 threads = 1;
  static constexpr i32 vector = 2;
  static constexpr i32 unroll = 1;
  static constexpr i32 chunk = 4;
  static constexpr i32 ring = 4;
};

struct Shards {
  i64 count;
  i64 longest() const { return count; }
  Range of(i32 rank) const { return {rank * count, (rank + 1) * count}; }
};

TEST(ShardChunks, HoldEachElementOfAShardOnce) {
  for (const i64 longest : {1, 5, 8, 23, 64}) {
    const ShardChunks<Config> chunks = {longest};
    for (i64 count = 0; count <= longest; ++count) {
      std::vector<int> times(static_cast<std::size_t>(count), 0);
      for (i64 number = 0; number < chunks.total(); ++number) {
        const Range range = chunks.at(number, count);
        EXPECT_LE(range.end - range.begin, Config::chunk);
        EXPECT_TRUE(range.begin == range.end || range.begin % Config::vector == 0);
        for (i64 i = range.begin; i < range.end; ++i) ++times.at(static_cast<std::size_t>(i));
      }
      EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << count << " of " << longest;
    }
  }
}

/// One writer each, and as many as the Plan reserves.
TEST(ShardRole, HasFlagsOfItsOwnForEachBlockAndRank) {
  std::set<i64> flags;
  for (i64 number = 0; number < 6; ++number) {
    for (i32 rank = 0; rank < Config::world; ++rank) {
      flags.insert({ShardRole<Config>::pushed(number).first + rank, ShardRole<Config>::read(number).first + rank});
    }
  }
  EXPECT_EQ(*flags.begin(), own_flag<Config>(0));
  EXPECT_EQ(*flags.rbegin(), own_flag<Config>(Config::blocks * Config::world - 1));
  EXPECT_EQ(flags.size(), Config::blocks * Config::world);
  EXPECT_EQ(ShardRole<Config>::pushed(5).step, 2);
  EXPECT_EQ(ShardRole<Config>::read(5).step, 5);
}

/// Two ranks, whose blocks run one after another.
class PushAndReduce : public ::testing::Test {
 protected:
  PushAndReduce() {
    for (int i = 0; i < 200; ++i) {
      inputs_[0].push_back(static_cast<f32>(i));
      inputs_[1].push_back(static_cast<f32>(1000 + i));
    }
  }

  bool run(i32 rank, u32 block, i64 count) {
    const auto of_rank = static_cast<std::size_t>(rank);
    Context context = heaps_.context(rank);
    context.launches = launches_.at(of_rank).data();
    bool passed = false;
    engine_.run(block, 0, [&] {
      const Launch<Config> launch(context);
      const auto store_sums = [&](const auto& index, const auto& sums) { store(sums_.data(), index, sums); };
      passed = push_and_reduce<1>(launch, Shards{count}, inputs_.at(of_rank).data(), store_sums);
    });
    return passed;
  }

  FakeEngine engine_;
  FakeHeaps heaps_{Config::world, Config::blocks};
  std::array<std::array<LaunchCount, Config::blocks>, Config::world> launches_ = {};
  std::array<std::vector<f32>, Config::world> inputs_;
  std::vector<f32> sums_ = std::vector<f32>(200, -1);
};

TEST_F(PushAndReduce, AddsWhatTheOthersHavePushed) {
  constexpr i64 count = 13;  // so that shards begin within a pack
  for (int launch = 0; launch < 3; ++launch) {
    for (const i32 rank : {0, 1}) {
      EXPECT_TRUE(run(rank, 0, count));
      EXPECT_TRUE(run(rank, 1, count));
    }
    for (const i32 rank : {0, 1}) {
      EXPECT_TRUE(run(rank, 2, count));
      for (std::size_t i = 0; i < 13; ++i) {
        const auto element = static_cast<f32>(13 * rank) + static_cast<f32>(i);
        EXPECT_EQ(sums_.at(i), element + (1000 + element)) << i << " of rank " << rank;
      }
      EXPECT_EQ(sums_.at(13), -1);
    }
  }
  EXPECT_EQ(heaps_.fault.raised, 0);
}

TEST_F(PushAndReduce, FillsASlotAgainOnlyOnceItHasBeenRead) {
  constexpr i64 count = 40;  // five chunks for each of two blocks, and four slots
  EXPECT_FALSE(run(1, 0, count));
  EXPECT_EQ(heaps_.fault.rank, 1);
  EXPECT_EQ(heaps_.fault.peer, 0);
  EXPECT_EQ(heaps_.fault.wait, Wait::step);

  std::vector<u64> waited;
  engine_.on_wait = [&](const u64* flag, u64 at_least, i32 /*peer*/, Wait /*what*/) {
    waited.push_back(at_least);
    *const_cast<u64*>(flag) = at_least;
  };
  EXPECT_TRUE(run(1, 0, count));
  const u64 launch = u64{2} << flag_step_bits;
  EXPECT_EQ(waited, (std::vector<u64>{launch | 0, launch | 2, launch | 4})) << "chunks 0, 2 and 4, before 4, 6 and 8";
}

TEST_F(PushAndReduce, WaitsForEveryRanksChunk) {
  EXPECT_TRUE(run(1, 0, 13));
  EXPECT_FALSE(run(0, 2, 13)) << "the second block has not pushed";
  EXPECT_EQ(heaps_.fault.rank, 0);
  EXPECT_EQ(heaps_.fault.peer, 1);
}

}  // namespace
}  // namespace iris::device::push_and_reduce_test
