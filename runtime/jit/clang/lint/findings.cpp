#include "runtime/jit/clang/lint/findings.hpp"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace iris::clang_library::lint {
namespace {

bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= name.size(); ++i) {
    if (fits(rest, name.substr(i))) return true;
  }
  return false;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Whether `word` stands in the line and, if it has a list in parentheses, the rule is in it.
bool names(std::string_view line, std::string_view word, std::string_view rule) {
  const std::size_t comment = line.find("//");
  std::size_t at = comment == std::string_view::npos ? line.find("/*") : comment;
  if (at == std::string_view::npos) return false;
  for (at = line.find(word, at); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::string_view rest = line.substr(at + word.size());
    if (!rest.empty() && rest[0] >= 'A' && rest[0] <= 'Z') continue;  // NOLINTNEXTLINE is not NOLINT
    if (!rest.starts_with('(')) return true;
    std::string_view list = rest.substr(1, rest.find(')') - 1);
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (fits(without_spaces(list.substr(0, comma)), rule)) return true;
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  return false;
}

}  // namespace

bool is_taken_back(std::string_view text, int line, std::string_view rule) {
  int depth = 0;
  std::string_view before;
  for (int number = 1; number <= line; ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view here = text.substr(0, end);
    if (names(here, "NOLINTBEGIN", rule)) ++depth;
    if (names(here, "NOLINTEND", rule) && depth > 0) --depth;
    if (number == line) return depth > 0 || names(here, "NOLINT", rule) || names(before, "NOLINTNEXTLINE", rule);
    before = here;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

Diagnostic* Findings::add(const RuleName& rule, clang::SourceRange where, std::string message) {
  const clang::SourceManager& sources = ast_.getSourceManager();
  const clang::SourceLocation location = sources.getFileLoc(where.getBegin());
  if (location.isInvalid() || sources.isInSystemHeader(location)) return nullptr;
  Diagnostic finding = {
      .severity = "warning", .rule = std::string(rule.name), .message = std::move(message), .place = place(where)};
  const auto same = [&](const Diagnostic& other) {
    return other.rule == finding.rule && other.place.file == finding.place.file &&
           other.place.line == finding.place.line && other.place.column == finding.place.column;
  };
  if (std::ranges::any_of(found_, same)) return nullptr;
  const llvm::StringRef text = sources.getBufferData(sources.getFileID(location));
  if (is_taken_back(text, static_cast<int>(sources.getSpellingLineNumber(location)), rule.name)) return nullptr;
  found_.push_back(std::move(finding));
  return &found_.back();
}

void Findings::remark(clang::SourceRange where, std::string message) {
  found_.push_back({.severity = "note", .message = std::move(message), .place = place(where)});
}

void Findings::note(Diagnostic* finding, clang::SourceRange where, std::string message) {
  if (finding == nullptr || where.isInvalid()) return;
  finding->notes.push_back({.severity = "note", .message = std::move(message), .place = place(where)});
}

void Findings::replace(Diagnostic* finding, clang::SourceRange where, std::string text) {
  if (finding == nullptr || where.getBegin().isMacroID() || where.getEnd().isMacroID()) return;
  finding->fix_its.push_back({place(where), std::move(text)});
}

void Findings::insert(Diagnostic* finding, clang::SourceLocation where, std::string text) {
  if (finding == nullptr || where.isMacroID()) return;
  finding->fix_its.push_back(
      {place_of(ast_.getSourceManager(), ast_.getLangOpts(), clang::CharSourceRange::getCharRange(where, where)),
       std::move(text)});
}

std::string Findings::text_of(clang::SourceRange range) const {
  if (range.getBegin().isMacroID() || range.getEnd().isMacroID()) return {};
  return clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(range), ast_.getSourceManager(),
                                     ast_.getLangOpts())
      .str();
}

std::vector<Diagnostic> Findings::take() {
  std::vector<Diagnostic> sorted(std::make_move_iterator(found_.begin()), std::make_move_iterator(found_.end()));
  std::ranges::stable_sort(
      sorted, {}, [](const Diagnostic& one) { return std::tuple(one.place.file, one.place.line, one.place.column); });
  return sorted;
}

Place Findings::place(clang::SourceRange range) const {
  return place_of(ast_.getSourceManager(), ast_.getLangOpts(), clang::CharSourceRange::getTokenRange(range));
}

}  // namespace iris::clang_library::lint
