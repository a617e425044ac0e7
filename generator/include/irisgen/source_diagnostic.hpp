#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace irisgen {

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

/// What Clang, or a rule of ours, says of a source of the user's own; or a note to that.
struct SourceDiagnostic {
  enum class Severity { error, warning, note };
  Severity severity = Severity::error;
  std::string rule = {};  ///< iris-…; empty: the compiler
  std::string message = {};
  SourceRange where = {};
  std::vector<SourceDiagnostic> notes = {};
  std::vector<FixIt> fix_its = {};
};

/// `error`, `warning` or `note`.
std::string_view to_string(SourceDiagnostic::Severity severity);

/// As Clang shows it: `file:line:column: warning: message [rule]`, the line, its range marked and the text that would
/// be right below that, then the notes. Control characters are made visible, long lines are windowed. Ends with a
/// newline. `color` uses ANSI escapes.
std::string render(const SourceDiagnostic& diagnostic, bool color = false);

}  // namespace irisgen
