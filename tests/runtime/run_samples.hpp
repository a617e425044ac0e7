#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "iris/cache.hpp"
#include "iris/jit.hpp"
#include "iris/run.hpp"
#include "runtime/verify/random.hpp"
#include "samples.hpp"

namespace iris::test {

/// Launches three times with data that differs from launch to launch; every element of each is checked.
inline void expect_right(const BuiltOperation& built, const Extents& extents, RunOptions options = {.seed = 7}) {
  options.repeat = 3;
  std::string shape = options.in_place ? "in place, " : "";
  for (const auto& [name, value] : extents) shape += name + " = " + std::to_string(value) + " ";
  for (const std::string& name : built.manifest.problem.dynamic_extents()) options.extents.set(name, extents.at(name));
  SCOPED_TRACE(shape);
  const RunReport report = run_operation(built, options);
  EXPECT_TRUE(report.verified);
  EXPECT_EQ(report.wrong, 0) << "of " << report.elements << " elements; the worst in launch " << report.worst.launch
                             << " on rank " << report.worst.rank << " at " << report.worst.element.index << ": "
                             << report.worst.element.actual << " for " << report.worst.element.expected << " ± "
                             << report.worst.element.tolerance;
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_TRUE(report.passed);
}

/// The same in place, where that is possible.
inline void expect_right_in_place(const BuiltOperation& built, const Extents& extents, std::uint64_t seed = 7) {
  if (built.manifest.in_place == InPlace::no) return;
  expect_right(built, extents, {.seed = seed, .in_place = true});
}

#ifdef IRISGEN_TEST_CACHE

/// Compiled kernels outlive a test program, so that a second run of the tests need not compile again.
inline Cache& test_cache() {
  static Cache cache{std::filesystem::path(IRISGEN_TEST_CACHE)};
  return cache;
}

/// On the CPU, with few threads and several blocks unless told otherwise.
inline BuiltOperation build(Sample sample) {
  if (sample.config.empty()) sample.config = small_grid(sample.algorithm, 32);
  return build_operation(plan_of(sample, "host"), {}, test_cache());
}

/// Random elements for each rank.
inline BuffersOfRanks random_inputs(int world, std::size_t count, Dtype dtype) {
  BuffersOfRanks inputs;
  for (int rank = 0; rank < world; ++rank) {
    inputs.push_back(to_bytes(random_values({.seed = 11, .rank = rank}, count, dtype, Op::sum), dtype));
  }
  return inputs;
}

/// What a kernel makes of these inputs.
inline BuffersOfRanks apply(const Sample& sample, const Extents& extents, const BuffersOfRanks& inputs,
                            std::uint64_t seed = 0) {
  RunOptions options;
  options.extents = extents;
  options.seed = seed;
  options.verify = false;
  options.inputs = {{"input", inputs}};
  const RunReport report = run_operation(build(sample), options);
  EXPECT_TRUE(report.violations.empty());
  return report.outputs.front().content;
}

#endif

}  // namespace iris::test
