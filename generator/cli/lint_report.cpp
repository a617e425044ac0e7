#include "generator/cli/lint_report.hpp"

#include <algorithm>
#include <string_view>

#include "generator/language/unicode.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;
using Severity = iris::LintFinding::Severity;

constexpr std::size_t max_message = 2000;  // code points
constexpr std::size_t bytes_around = 80;   // of a quoted line, on each side of the range's begin

struct Style {
  std::string_view bold, error, warning, mark, plain;
};
constexpr Style no_style = {"", "", "", "", ""};
constexpr Style ansi_style = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m", "\033[0m"};

std::string_view word_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

/// The line as a terminal can show it, and below it ^~~~ under the range; both from a little before the range on.
void quote(std::string& text, const iris::SourceRange& where, const std::vector<iris::FixIt>& fix_its,
           const Style& style) {
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
  for (const iris::FixIt& fix_it : fix_its) {
    const bool inserts = fix_it.where.column == fix_it.where.end_column && fix_it.where.line == fix_it.where.end_line;
    text.append(margin).append(" | ").append(style.mark).append(inserts ? "insert at " : "write for ");
    text.append(std::to_string(fix_it.where.line)).append(":").append(std::to_string(fix_it.where.column));
    if (!inserts) text.append("-").append(std::to_string(fix_it.where.end_column - 1));
    text.append(": ").append(printable(fix_it.text, max_message)).append(style.plain).append("\n");
  }
}

void render(std::string& text, const iris::LintFinding& finding, const Style& style) {
  const auto& where = finding.where;
  text.append(style.bold).append(printable(where.file, max_message));
  if (where.line > 0)
    text.append(":").append(std::to_string(where.line)).append(":").append(std::to_string(where.column));
  text.append(": ").append(style.plain);
  const bool error = finding.severity == Severity::error;
  text.append(error ? style.error : finding.severity == Severity::warning ? style.warning : style.bold);
  text.append(word_of(finding.severity)).append(": ").append(style.plain).append(style.bold);
  text.append(printable(finding.message, max_message)).append(style.plain);
  if (!finding.rule.empty()) text.append(" [").append(finding.rule).append("]");
  text += "\n";
  if (where.line > 0) quote(text, where, finding.fix_its, style);
  for (const iris::LintFinding& note : finding.notes) render(text, note, style);
}

Json json_of(const iris::SourceRange& where) {
  return {{"file", where.file},
          {"line", where.line},
          {"column", where.column},
          {"end_line", where.end_line},
          {"end_column", where.end_column}};
}

Json json_of(const iris::LintFinding& finding) {
  Json json = {{"severity", word_of(finding.severity)}, {"rule", finding.rule}, {"message", finding.message}};
  json.update(json_of(finding.where));
  json["notes"] = Json::array();
  for (const iris::LintFinding& note : finding.notes) json["notes"].push_back(json_of(note));
  json["fix_its"] = Json::array();
  for (const iris::FixIt& fix_it : finding.fix_its) {
    Json replaced = json_of(fix_it.where);
    replaced["text"] = fix_it.text;
    json["fix_its"].push_back(std::move(replaced));
  }
  return json;
}

}  // namespace

std::string render(const LintedFile& file, bool color) {
  std::string text;
  for (const iris::LintFinding& finding : file.findings) render(text, finding, color ? ansi_style : no_style);
  return text;
}

Json to_json(const std::vector<LintedFile>& files) {
  Json all = Json::array();
  for (const LintedFile& file : files) {
    Json findings = Json::array();
    for (const iris::LintFinding& finding : file.findings) findings.push_back(json_of(finding));
    all.push_back({{"file", file.name}, {"findings", std::move(findings)}});
  }
  return all;
}

}  // namespace irisgen::cli
