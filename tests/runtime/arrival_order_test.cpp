// What holds of sums in the order of arrival, which differ in their last bits from one order of execution to another.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"

namespace iris::arrival_order_test {
namespace {

using test::apply;
using test::build;
using test::random_inputs;
using test::Sample;

class ArrivalOrders : public testing::TestWithParam<int> {
 protected:
  int world() const { return GetParam(); }
};

TEST_P(ArrivalOrders, IsRightWhateverItIs) {
  for (const auto& [variant, dtype] :
       {std::pair{"atomic", "f32"}, {"atomic", "f64"}, {"spinlock", "f32"}, {"spinlock", "bf16"}}) {
    const Sample sample = Sample{{"all_reduce", variant}, world(), dtype};
    const BuiltOperation built = build(sample);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(sample.text() + "seed " + std::to_string(seed));
      test::expect_right(built, {{"m", 3}, {"n", 171}}, {.seed = seed});
    }
  }
}

TEST_P(ArrivalOrders, LocksAreFreeAfterEveryLaunch) {
  constexpr device::u64 launches = 4;
  const BuiltOperation built = build(Sample{{"all_reduce", "spinlock"}, world(), "f16"});
  const Extents extents = {{"m", 1}, {"n", 1001}};
  const std::int64_t flags = layout_of(built.manifest, extents).kernels.at(0).flags;
  const int blocks = built.manifest.kernels.at(0).blocks;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    World ranks({.size = world(), .heap_bytes = 1U << 20U, .seed = seed});
    ranks.run([&](Context& context) {
      Operation operation(context, built, extents);  // the first on the heap, so it begins there
      void* buffer = context.allocate(1001 * 2);
      for (device::u64 launch = 0; launch < launches; ++launch) operation.launch({buffer, buffer}, extents);
      context.barrier();
      const char* heap = context.heap_bases()[static_cast<std::size_t>(context.rank())];
      const auto* lock = reinterpret_cast<const device::u64*>(heap + flags) + blocks * world();
      for (int block = 0; block < blocks; ++block, lock += 2) {
        // Each other rank has held it once in the last launch.
        const device::u64 last = launches << device::flag_step_bits | static_cast<device::u64>(world() - 1);
        EXPECT_EQ(lock[0], last) << "tickets of block " << block << ", seed " << seed;
        EXPECT_EQ(lock[1], last) << "calls of block " << block << ", seed " << seed;
      }
      context.barrier();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, ArrivalOrders, testing::Values(1, 2, 3, 5, 8),
                         [](const auto& info) { return "world" + std::to_string(info.param); });

/// So the table is right to call them not deterministic.
TEST(ArrivalOrder, ShowsInTheLastBits) {
  const BuffersOfRanks inputs = random_inputs(8, 1001, Dtype::f32);
  for (const char* variant : {"atomic", "spinlock"}) {
    std::set<BuffersOfRanks> results;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      results.insert(apply(Sample{{"all_reduce", variant}, 8, "f32"}, {{"m", 1}, {"n", 1001}}, inputs, seed));
    }
    EXPECT_GT(results.size(), 1U) << variant;
    EXPECT_NE(results.begin()->front(), results.begin()->back()) << variant << ": ranks differ, too";
  }
}

}  // namespace
}  // namespace iris::arrival_order_test
