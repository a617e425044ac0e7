#include "irisgen/source_diagnostic.hpp"

#include <algorithm>

#include "generator/language/text_style.hpp"
#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

using SourceSeverity = SourceDiagnostic::Severity;

constexpr std::size_t max_text = 2000;    // code points
constexpr std::size_t bytes_around = 80;  // of a quoted line, on each side of the range's begin

/// The line as a terminal can show it, and below it ^~~~ under the range; both from a little before the range on.
void quote(std::string& text, const SourceRange& where, const std::vector<FixIt>& fix_its, const TextStyle& style) {
  const std::string& line = where.source_line;
  const std::size_t begin = std::min(static_cast<std::size_t>(std::max(where.column, 1)) - 1, line.size());
  const bool one_line = where.end_line == where.line && where.end_column > where.column;
  const std::size_t end =
      std::min(one_line ? static_cast<std::size_t>(where.end_column) - 1 : line.size(), line.size());
  std::size_t offset = begin > bytes_around ? begin - bytes_around : 0;
  std::string shown = offset > 0 ? "…" : "";
  std::string below = offset > 0 ? " " : "";
  while (offset < line.size() && offset < begin + bytes_around) {
    const CodePoint point = decode(line, offset);
    const bool tab = point.valid && point.value == '\t';
    const Glyph glyph = tab ? Glyph{"\t", 1} : glyph_of(line, offset, point);
    shown += glyph.text;
    const std::string fill(static_cast<std::size_t>(glyph.columns), offset < begin ? ' ' : '~');
    if (offset < begin) {
      below += tab ? "\t" : fill;
    } else if (offset < end) {
      below += offset == begin ? "^" + fill.substr(1) : fill;
    }
    offset += point.bytes;
  }
  if (offset < line.size()) shown += "…";
  if (begin >= std::min(end, offset)) below += "^";
  std::string number = std::to_string(where.line);
  number.insert(0, 5 - std::min<std::size_t>(5, number.size()), ' ');
  const std::string margin(number.size(), ' ');
  text.append(number).append(" | ").append(shown).append("\n").append(margin).append(" | ");
  text.append(style.mark).append(below).append(style.plain).append("\n");
  for (const FixIt& fix_it : fix_its) {
    const bool inserts = fix_it.where.column == fix_it.where.end_column && fix_it.where.line == fix_it.where.end_line;
    text.append(margin).append(" | ").append(style.mark).append(inserts ? "insert at " : "write for ");
    text.append(std::to_string(fix_it.where.line)).append(":").append(std::to_string(fix_it.where.column));
    if (!inserts) text.append("-").append(std::to_string(fix_it.where.end_column - 1));
    text.append(": ").append(printable(fix_it.text, max_text)).append(style.plain).append("\n");
  }
}

void append(std::string& text, const SourceDiagnostic& diagnostic, const TextStyle& style) {
  const auto& where = diagnostic.where;
  text.append(style.bold).append(printable(where.file, max_text));
  if (where.line > 0)
    text.append(":").append(std::to_string(where.line)).append(":").append(std::to_string(where.column));
  text.append(": ").append(style.plain);
  const bool error = diagnostic.severity == SourceSeverity::error;
  text.append(error ? style.error : diagnostic.severity == SourceSeverity::warning ? style.warning : style.bold);
  text.append(to_string(diagnostic.severity)).append(": ").append(style.plain).append(style.bold);
  text.append(printable(diagnostic.message, max_text)).append(style.plain);
  if (!diagnostic.rule.empty()) text.append(" [").append(diagnostic.rule).append("]");
  text += "\n";
  if (where.line > 0) quote(text, where, diagnostic.fix_its, style);
  for (const SourceDiagnostic& note : diagnostic.notes) append(text, note, style);
}

}  // namespace

std::string_view to_string(SourceDiagnostic::Severity severity) {
  return severity == SourceSeverity::error ? "error" : severity == SourceSeverity::warning ? "warning" : "note";
}

std::string render(const SourceDiagnostic& diagnostic, bool color) {
  std::string text;
  append(text, diagnostic, color ? ansi_style : no_style);
  return text;
}

}  // namespace irisgen
