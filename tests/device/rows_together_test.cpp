// Which flags the template of rows_together waits for.
#include <gtest/gtest.h>

#include "iris/device/barrier.hpp"
#include "iris/device/main_loop.hpp"
#include "iris/device/main_loop/fma.hpp"
#include "iris/device/reduce.hpp"
#include "tests/device/fake_engine.hpp"

// The template includes it once more, to no effect: it takes the Config of the namespace that it is in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace iris::device::rows_together_test {
namespace {

struct Config : sample::Config {
  static constexpr i32 world = 3;
  static constexpr i32 blocks = 9;
  static constexpr i32 comm_blocks = 5;  // two of them send each slice, one sends nothing
};
#include "templates/all_gather_matmul/rows_together.hip"

// Blocks 0 and 1 send slices 0, 2, 4 and 6, blocks 2 and 3 the others: one that lags behind by a slice holds up no more
// than its own next one.
TEST(RowsTogether, WaitsForTheBlocksThatSendASliceOnEveryRank) {
  FakeEngine engine;
  FakeHeaps heaps(Config::world, Config::blocks);
  const Context context = heaps.context(1);
  engine.run(8, 0, [&] {
    const Launch<Config> launch(context);
    const Shape shape = {.m = 6, .n = 4, .k = 64};
    const Tiles tiles(launch, shape);
    for (i32 late_block = 0; late_block < 4; ++late_block) {
      for (i32 late_rank = 0; late_rank < Config::world; ++late_rank) {
        for (u32 told = 0; told < 4; ++told) {
          for (i32 block = 0; block < 4; ++block) {
            for (i32 rank = 0; rank < Config::world; ++rank) {
              const bool is_late = block == late_block && rank == late_rank;
              heaps.flags(1)[shape.flag(block, rank)] = launch.flag_value(is_late ? told : 3);
            }
          }
          for (i32 slice = 0; slice < Tiles::slices; ++slice) {
            const bool has_come = slice % 2 != late_block / 2 || slice / 2 <= static_cast<i32>(told);
            EXPECT_EQ(tiles.wait({0, 0}, slice, {0, 1}), has_come)
                << "slice " << slice << ", block " << late_block << " of rank " << late_rank << " has told of " << told;
            bool all = true;  // of a group of more threads than there are flags
            for (i64 thread = 0; thread < 32; ++thread) all = tiles.wait({0, 0}, slice, {thread, 32}) && all;
            EXPECT_EQ(all, has_come) << "by a warp";
          }
        }
      }
    }
    context.launches[8] = {};
  });
}

}  // namespace
}  // namespace iris::device::rows_together_test
