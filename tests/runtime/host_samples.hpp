#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "iris/cache.hpp"
#include "iris/jit.hpp"
#include "iris/run.hpp"
#include "kernel_samples.hpp"

namespace iris::test {

/// Compiled kernels outlive a test program, so that a second run of the tests need not compile again.
inline Cache& test_cache() {
  static Cache cache{std::filesystem::path(IRISGEN_TEST_CACHE)};
  return cache;
}

/// Few threads and several blocks, unless told otherwise: enough to have every kind of meeting, few enough to be quick.
inline BuiltKernel build(Sample sample) {
  if (sample.config.empty()) sample.config = "blocks: 3, threads: 32";
  return build_kernel(plan_of(sample, "host"), {}, test_cache());
}

/// What the launch of a kernel must be given: the dynamic extents.
inline LaunchExtents launch_extents(const irisgen::Manifest& manifest, const irisgen::Extents& extents) {
  LaunchExtents given;
  if (manifest.m.dynamic) given.m = extents.m;
  if (manifest.n.dynamic) given.n = extents.n;
  if (manifest.k.dynamic) given.k = extents.k;
  return given;
}

/// Several launches in a row with data that differs from launch to launch; every element of each is checked.
inline void expect_right(const BuiltKernel& built, const irisgen::Extents& extents, std::uint64_t seed = 7) {
  SCOPED_TRACE(testing::Message() << "m " << extents.m << ", n " << extents.n << ", k " << extents.k);
  const RunReport report = run_kernel(
      built,
      {.extents = launch_extents(built.manifest, extents), .seed = seed, .repeat = 3, .inputs = {}, .progress = {}});
  EXPECT_TRUE(report.verified);
  EXPECT_EQ(report.wrong, 0) << "of " << report.elements << " elements; the worst in launch " << report.worst.launch
                             << " on rank " << report.worst.rank << " at " << report.worst.element.index << ": "
                             << report.worst.element.actual << " for " << report.worst.element.expected << " ± "
                             << report.worst.element.tolerance;
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_TRUE(report.passed);
}

}  // namespace iris::test
