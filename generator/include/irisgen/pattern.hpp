#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {

struct Variant {
  std::string_view name;
  std::string_view summary;        ///< one line, for `irisgen list`
  std::string_view template_path;  ///< below templates/
};

/// Sizes of one launch.
struct Extents {
  std::int64_t m = 1, n = 1, k = 1;
};

/// One rank's values of one argument, row-major, in float64 (exact for every dtype of the language).
using Values = std::vector<double>;

/// What a correct run must produce: each element's value and how far a correctly rounded kernel may be from it.
struct Expectation {
  Values value;
  Values tolerance;  ///< absolute, per element; 0 where the result is exact
};

/// A collective or fused operation. Adding one means a file in patterns/ with such a row, its templates, and a line in
/// patterns() — see generator/README.md.
struct Pattern {
  std::string_view name;
  std::string_view summary;
  std::span<const Variant> variants;
  std::string_view extents;  ///< the keys of `shape:` — "mn" (m is optional) or "mnk"
  bool reduces;              ///< takes `op` and `accumulate`
  bool rooted;               ///< takes `root`

  /// Typed rules beyond the schema's: divisibility, ops that make no sense.
  void (*check)(const KernelSpec& kernel, Report& report);

  /// Fills in everything of `plan` that depends on the pattern: variant, blocks, threads, arguments, flags, workspace,
  /// substitutions, choices, prediction. kernel, world and target are set on entry.
  void (*plan)(Plan& plan);

  /// The output of every rank from the inputs of every rank, computed independently of any kernel. inputs[rank] holds
  /// the read arguments in order. Source of truth for `irisgen run` and the tests.
  std::vector<Expectation> (*reference)(const KernelSpec& kernel, int world, const Extents& extents,
                                        const std::vector<std::vector<Values>>& inputs);
};

/// Every pattern, in the order `irisgen list` shows them.
std::span<const Pattern* const> patterns();

/// nullptr if there is none of that name.
const Pattern* find_pattern(std::string_view name);

}  // namespace irisgen
