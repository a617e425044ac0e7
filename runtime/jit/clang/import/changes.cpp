#include "runtime/jit/clang/import/changes.hpp"

#include <algorithm>
#include <utility>

namespace iris::clang_library::importing {
namespace {

constexpr std::size_t max_notes = 12;
constexpr std::size_t max_changes = 400;

}  // namespace

void Changes::add(std::string_view rule, const std::string& key, clang::SourceRange where, const std::string& message,
                  const std::string& fix) {
  Diagnostic change = {
      .severity = "warning",
      .rule = std::string(rule),
      .message = message,
      .place = place_of(parsed_.sources(), parsed_.ast().getLangOpts(), clang::CharSourceRange::getTokenRange(where))};
  if (!fix.empty()) change.fix_its.push_back({change.place, fix});
  const auto [known, first] = known_.try_emplace(std::string(rule) + " " + key, found_.size());
  if (first) {
    if (found_.size() < max_changes) found_.push_back(std::move(change));
    return;
  }
  if (known->second >= found_.size()) return;
  Diagnostic& one = found_[known->second];
  const auto is_here = [&](const Diagnostic& other) {
    return other.place.line == change.place.line && other.place.column == change.place.column;
  };
  if (is_here(one) || std::ranges::any_of(one.notes, is_here) || one.notes.size() > max_notes) return;
  change.severity = "note";
  change.rule.clear();
  change.message = one.notes.size() == max_notes ? "and here, and in more places" : "here, too";
  one.notes.push_back(std::move(change));
}

void Changes::add(const Remedy& remedy, const std::string& name, clang::SourceRange where, const std::string& fix) {
  if (!remedy.include.empty()) want_include(remedy.include);
  add(remedy.rule, name, where, "'" + name + "': " + std::string(remedy.text), fix);
}

bool Changes::has(const Remedy& remedy, const std::string& name) const {
  return known_.contains(std::string(remedy.rule) + " " + name);
}

void Changes::add(Diagnostic diagnostic) {
  if (found_.size() < max_changes) found_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Changes::take() {
  std::ranges::stable_sort(found_, [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  known_.clear();
  return std::exchange(found_, {});
}

}  // namespace iris::clang_library::importing
