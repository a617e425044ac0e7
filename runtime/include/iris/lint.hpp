#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iris {

/// A range of a source: lines and columns from 1 on, columns in bytes, the end behind the last one. Line 0: no place.
struct SourceRange {
  std::string file = {};
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;
  std::string source_line = {};  ///< the text of `line`
};

/// What to write in the place of a range, which may be empty.
struct FixIt {
  SourceRange where = {};
  std::string text = {};
};

/// What lint found, or a note to that.
struct LintFinding {
  enum class Severity { error, warning, note };
  Severity severity = Severity::warning;
  std::string rule = {};  ///< iris-…; empty: the compiler
  std::string message = {};
  SourceRange where = {};
  std::vector<LintFinding> notes = {};
  std::vector<FixIt> fix_its = {};
};

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
std::vector<LintFinding> lint(const std::string& name, const std::string& source);

}  // namespace iris
