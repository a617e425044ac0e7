#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "generator/pattern.hpp"
#include "generator/plan.hpp"
#include "generator/spec.hpp"
#include "runtime/cache.hpp"
#include "runtime/jit.hpp"
#include "runtime/run.hpp"

namespace iris::test {

inline bool is_fused(const irisgen::Pattern& pattern) {
  return pattern.extents.find('k') != pattern.extents.npos;
}

/// One kernel of the language for host, as a user would write it. Few threads and several blocks: enough to have every
/// kind of meeting, few enough to be quick.
struct Sample {
  const irisgen::Pattern* pattern = nullptr;
  std::string variant = "auto";
  int world = 1;
  std::string dtype = "f32";
  std::string op = "sum";
  std::optional<irisgen::Extents> shape = {};  ///< absent: dynamic
  std::string config = "blocks: 3, threads: 32";

  std::string text() const {
    const auto extent = [&](std::int64_t irisgen::Extents::* member) {
      return shape.has_value() ? std::to_string((*shape).*member) : std::string("dynamic");
    };
    std::ostringstream text;
    text << "irisgen: 1\nkernels:\n  - name: sample\n    pattern: " << pattern->name << "\n    variant: " << variant
         << "\n    dtype: " << dtype << "\n    world: " << world;
    if (pattern->reduces && !is_fused(*pattern)) text << "\n    op: " << op;
    if (pattern->rooted) text << "\n    root: " << world / 2;
    text << "\n    shape: {m: " << extent(&irisgen::Extents::m) << ", n: " << extent(&irisgen::Extents::n);
    if (is_fused(*pattern)) text << ", k: " << extent(&irisgen::Extents::k);
    text << "}\n    config: {" << config << "}\n";
    return text.str();
  }
};

/// Compiled kernels outlive a test program, so that a second run of the tests need not compile again.
inline Cache& test_cache() {
  static Cache cache{std::filesystem::path(IRISGEN_TEST_CACHE)};
  return cache;
}

inline BuiltKernel build(const Sample& sample) {
  const irisgen::Spec spec = irisgen::parse_spec("sample.yaml", sample.text());
  return build_kernel(irisgen::make_plan(spec.kernels.front(), sample.world, *irisgen::find_target("host")), {},
                      test_cache());
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
