#include "iris/lint.hpp"

#include <nlohmann/json.hpp>

#include "runtime/jit/clang/lint/names.hpp"
#include "runtime/jit/compilers/ask.hpp"

namespace iris {
namespace {

using nlohmann::json;

SourceRange range_of(const json& place) {
  return {.file = place.at("file").get<std::string>(),
          .line = place.at("line").get<int>(),
          .column = place.at("column").get<int>(),
          .end_line = place.at("end_line").get<int>(),
          .end_column = place.at("end_column").get<int>(),
          .source_line = place.at("source_line").get<std::string>()};
}

LintFinding::Severity severity_of(const std::string& word) {
  if (word == "error") return LintFinding::Severity::error;
  return word == "warning" ? LintFinding::Severity::warning : LintFinding::Severity::note;
}

LintFinding finding_of(const json& diagnostic) {
  LintFinding finding = {.severity = severity_of(diagnostic.at("severity").get<std::string>()),
                         .rule = diagnostic.at("rule").get<std::string>(),
                         .message = diagnostic.at("message").get<std::string>(),
                         .where = range_of(diagnostic.at("place"))};
  for (const json& note : diagnostic.at("notes")) finding.notes.push_back(finding_of(note));
  for (const json& fix_it : diagnostic.at("fix_its")) {
    finding.fix_its.push_back({range_of(fix_it.at("place")), fix_it.at("text").get<std::string>()});
  }
  return finding;
}

}  // namespace

std::vector<LintRule> lint_rules() {
  std::vector<LintRule> rules;
  rules.reserve(clang_library::rule_names.size());
  for (const auto& rule : clang_library::rule_names) rules.push_back({rule.name, rule.summary});
  return rules;
}

std::vector<LintFinding> lint(const std::string& name, const std::string& source) {
  const json answer = ask({{"task", "lint"}, {"name", name}, {"source", source}});
  std::vector<LintFinding> findings;
  for (const json& diagnostic : answer.at("findings")) findings.push_back(finding_of(diagnostic));
  return findings;
}

}  // namespace iris
