#include "iris/lint.hpp"

#include <nlohmann/json.hpp>

#include "runtime/jit/clang/lint/names.hpp"
#include "runtime/jit/compilers/ask.hpp"
#include "runtime/jit/compilers/source_diagnostics.hpp"

namespace iris {
std::vector<LintRule> lint_rules() {
  std::vector<LintRule> rules;
  rules.reserve(clang_library::rule_names.size());
  for (const auto& rule : clang_library::rule_names) rules.push_back({rule.name, rule.summary});
  return rules;
}

std::vector<irisgen::SourceDiagnostic> lint(const std::string& name, const std::string& source) {
  return source_diagnostics(ask({{"task", "lint"}, {"name", name}, {"source", source}}).at("findings"));
}

}  // namespace iris
