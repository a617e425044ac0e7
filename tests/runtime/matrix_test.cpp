// Every pattern, variant and shard, element type, op, layout and world on the CPU, at sizes that nothing divides.
// Thinned so that every pair of choices occurs; in full with IRISGEN_TEST_ALL=1.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run_samples.hpp"

namespace iris {
namespace {

using test::Algorithm;
using test::build;
using test::expect_right;
using test::Sample;

class HostMatrix : public testing::TestWithParam<Algorithm> {};

/// Static extents and dynamic ones: constants fold what dynamic extents leave to branches, so the code is another.
TEST_P(HostMatrix, EveryElementIsRight) {
  const Algorithm& algorithm = GetParam();
  const std::vector<int> worlds = {1, 2, 3, 5, 8};
  const std::vector<std::string> ops = test::ops_of(algorithm);
  const std::vector<std::string> layouts = test::layouts_of(algorithm);
  const std::size_t sizes = test::awkward_extents(algorithm, 1).size();
  for (const auto& [world, size, dtype, op, layout] :
       test::rows_of<5>({worlds.size(), sizes + 1, test::dtypes_of(algorithm).size(), ops.size(), layouts.size()})) {
    Sample sample{.algorithm = algorithm,
                  .world = worlds[world],
                  .dtype = test::dtypes_of(algorithm).at(dtype),
                  .op = ops[op],
                  .layout = layouts[layout]};
    const std::vector<Extents> extents = test::awkward_extents(algorithm, sample.world);
    const bool dynamic = size == sizes;
    if (!dynamic) sample.extents = extents[size];
    SCOPED_TRACE(sample.text());
    const BuiltOperation built = build(sample);
    for (const Extents& each : extents) {
      if (dynamic || each == sample.extents) expect_right(built, each);
    }
  }
}

/// More ranks than any GPU machine has.
TEST_P(HostMatrix, LargeWorldsAreRight) {
  const Algorithm& algorithm = GetParam();
  for (const auto& [world, dtype] : {std::pair{13, "f32"}, {16, "f16"}}) {
    const Sample sample{.algorithm = algorithm, .world = world, .dtype = dtype};
    SCOPED_TRACE(sample.text());
    Extents extents = {{"m", 1}, {"n", 1003}};
    if (test::is_matmul(algorithm)) extents = test::matmul_extents(algorithm, world, 3, 7, 9);
    expect_right(build(sample), extents);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostMatrix, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

/// Of several variants a launch takes the one for its size.
TEST(HostBySize, EverySizeIsRight) {
  const Sample sample{.algorithm = {"all_reduce", "auto"}, .world = 3, .dtype = "bf16"};
  const BuiltOperation built = build_operation(test::plan_of(sample, "host"), {}, test::test_cache());
  ASSERT_EQ(built.manifest.variant, "by_size");
  const std::int64_t limit = built.manifest.schedules.front().up_to;
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, limit, limit + 1, limit + 1000}) {
    expect_right(built, {{"m", 1}, {"n", n}});
  }
}

}  // namespace
}  // namespace iris
