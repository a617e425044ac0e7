#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"

/// Kernels of the language, for tests that go through every pattern.
namespace iris::test {

inline bool is_fused(const irisgen::Pattern& pattern) {
  return pattern.extents.find('k') != pattern.extents.npos;
}

/// One kernel as a user would write it.
struct Sample {
  const irisgen::Pattern* pattern = nullptr;
  std::string variant = "auto";
  int world = 1;
  std::string dtype = "f32";
  std::string op = "sum";
  std::optional<irisgen::Extents> shape = {};  ///< absent: dynamic
  std::string config = {};                     ///< "blocks: 3, threads: 32"; empty: as irisgen plans

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
    text << "}\n";
    if (!config.empty()) text << "    config: {" << config << "}\n";
    return text.str();
  }
};

inline irisgen::Plan plan_of(const Sample& sample, std::string_view target) {
  const irisgen::Spec spec = irisgen::parse_spec("sample.yaml", sample.text());
  return irisgen::make_plan(spec.kernels.front(), sample.world, *irisgen::find_target(target));
}

}  // namespace iris::test
