// Every pattern and variant, element type, op and world on the CPU, at sizes that nothing divides.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_samples.hpp"

namespace iris {
namespace {

using irisgen::Extents;
using irisgen::Pattern;
using test::build;
using test::expect_right;
using test::is_fused;
using test::Sample;

struct Combination {
  const Pattern* pattern;
  std::string variant;
  int world;
};

std::vector<Combination> combinations(const std::vector<int>& worlds) {
  std::vector<Combination> all;
  for (const Pattern* pattern : irisgen::patterns()) {
    for (const irisgen::Variant& variant : pattern->variants) {
      for (const int world : worlds) all.push_back({pattern, std::string(variant.name), world});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Combination>& info) {
  return std::string(info.param.pattern->name) + "_" + info.param.variant + "_world" + std::to_string(info.param.world);
}

std::vector<std::string> ops_of(const Pattern& pattern) {
  if (!pattern.reduces || is_fused(pattern)) return {"sum"};
  return {"sum", "max", "min", "prod"};
}

std::vector<Extents> awkward_extents(const Pattern& pattern, int world) {
  if (!is_fused(pattern)) {
    return {{1, 0, 1}, {1, 1, 1}, {1, 3, 1}, {1, 17, 1}, {5, 51, 1}, {1, 1000, 1}, {1, 4099, 1}};
  }
  // The rows are dealt to the ranks, so m is a multiple of the world by definition.
  const std::int64_t ranks = world;
  return {{0, 3, 5}, {ranks, 1, 1}, {ranks * 3, 17, 0}, {ranks * 5, 0, 4}, {ranks * 37, 29, 19}, {ranks * 16, 70, 33}};
}

class HostMatrix : public testing::TestWithParam<Combination> {};

TEST_P(HostMatrix, EveryElementIsRightForDynamicExtents) {
  const auto& [pattern, variant, world] = GetParam();
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "i32"}) {
    for (const std::string& op : ops_of(*pattern)) {
      const Sample sample{.pattern = pattern, .variant = variant, .world = world, .dtype = dtype, .op = op};
      SCOPED_TRACE(sample.text());
      const BuiltKernel built = build(sample);
      for (const Extents& extents : awkward_extents(*pattern, world)) expect_right(built, extents);
    }
  }
}

/// Constants fold what dynamic extents leave to branches, so the code is another.
TEST_P(HostMatrix, EveryElementIsRightForStaticExtents) {
  const auto& [pattern, variant, world] = GetParam();
  const std::vector<std::string> dtypes = {"f32", "bf16", "f64", "i32", "f16"};
  const std::vector<std::string> ops = ops_of(*pattern);
  auto turn = static_cast<std::size_t>(world);
  for (const Extents& extents : awkward_extents(*pattern, world)) {
    Sample sample{.pattern = pattern, .variant = variant, .world = world, .shape = extents};
    sample.dtype = dtypes[turn % dtypes.size()];
    sample.op = ops[turn % ops.size()];
    ++turn;
    SCOPED_TRACE(sample.text());
    expect_right(build(sample), extents);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostMatrix, testing::ValuesIn(combinations({1, 2, 3, 5, 8})), name_of);

/// More ranks than any GPU machine has.
class HostLargeWorld : public testing::TestWithParam<Combination> {};

TEST_P(HostLargeWorld, EveryElementIsRight) {
  const auto& [pattern, variant, world] = GetParam();
  for (const char* dtype : {"f32", "f16"}) {
    const Sample sample{.pattern = pattern, .variant = variant, .world = world, .dtype = dtype};
    SCOPED_TRACE(sample.text());
    expect_right(build(sample), is_fused(*pattern) ? Extents{std::int64_t{3} * world, 7, 9} : Extents{1, 1003, 1});
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostLargeWorld, testing::ValuesIn(combinations({13, 16})), name_of);

}  // namespace
}  // namespace iris
