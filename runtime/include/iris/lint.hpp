#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "irisgen/source_diagnostic.hpp"

namespace iris {

struct LintRule {
  std::string_view name;     ///< iris-remote-dereference
  std::string_view summary;  ///< one line
};

/// All rules; docs/lint.md says what each of them sees, and what it does not.
std::vector<LintRule> lint_rules();

/// What is wrong with kernels written in the vocabulary of <iris/device/…>: the compiler's errors, if there are any,
/// else what the rules find, in the order of their places. Nothing of the source runs. `name` is shown in messages, and
/// what the source includes by "…" is looked for next to it; comments take findings back, `// NOLINT(iris-…)`.
/// Templates of kernels over a Config that the source does not instantiate are looked at with sample values. Throws
/// std::runtime_error where Clang is not on this machine, with the package that brings it, and where it crashes.
std::vector<irisgen::SourceDiagnostic> lint(const std::string& name, const std::string& source);

}  // namespace iris
