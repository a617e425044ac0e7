#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace irisgen {

/// A place in a text, both 1-based; column counts Unicode code points. Line 0: no place.
struct Position {
  int line = 0;
  int column = 0;
  auto operator<=>(const Position&) const = default;
};

/// The place of what stands on the command line rather than in the text: `--world`.
inline constexpr Position world_option = {-1, 0};

enum class Severity { error, note };

/// What is wrong, where, and what to do about it (part of the message, after a semicolon).
struct Diagnostic {
  Position where;
  std::string message;
  Severity severity = Severity::error;
  std::string detail = {};  ///< lines to show below: what is wrong in another file, say
};

/// Collects the errors of one text, so that a run shows them all at once: keeps the first thousand found, each once,
/// and counts the rest.
class Report {
 public:
  /// `file` is the name to show; `text` its content, for the quoted line.
  Report(std::string file, std::string text);

  void error(Position where, std::string message, std::string detail = {}) {
    add({where, std::move(message), Severity::error, std::move(detail)});
  }
  /// What the user should know, but nothing that is wrong by itself.
  void note(Position where, std::string message) { add({where, std::move(message), Severity::note}); }
  /// Whether there is no error.
  bool ok() const;
  /// No further error will be kept; looking for more is no use.
  bool full() const;
  /// In the order in which they were found.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// In the order of their places; errors of one place stay in the order in which they were found. Valid until the next
  /// error() and as long as the report.
  std::vector<const Diagnostic*> by_place() const;

  /// The first fifty errors in the order of their places, each `file:line:column: error: message`, the line and a caret
  /// below it, then how many more there are. No newline at the end. `color` uses ANSI escapes. Control characters are
  /// made visible, long lines are windowed.
  std::string render(bool color = false) const;

  /// Throws SpecError if there is an error.
  void throw_if_any() const;

 private:
  void add(Diagnostic diagnostic);

  std::string file_;
  std::string text_;
  std::vector<Diagnostic> diagnostics_;
  std::size_t count_ = 0;
};

/// The errors of a specification; what() is Report::render without colours.
class SpecError : public std::runtime_error {
 public:
  explicit SpecError(Report report);
  const Report& report() const { return report_; }

 private:
  Report report_;
};

/// The one of `words` that `wrong` is most likely a slip of; nothing if none is near.
std::optional<std::string_view> nearest(std::string_view wrong, const std::vector<std::string_view>& words);

/// `; did you mean 'two_shot'?` for the nearest of `words`, or `; one of: a, b, c` where nothing is near.
std::string suggestion(std::string_view wrong, const std::vector<std::string_view>& words);

}  // namespace irisgen
