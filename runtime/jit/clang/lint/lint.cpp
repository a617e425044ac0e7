#include <array>
#include <nlohmann/json.hpp>

#include "runtime/jit/clang/lint/rules.hpp"
#include "runtime/jit/clang/parse.hpp"
#include "runtime/jit/clang/sample_config.hpp"
#include "runtime/jit/clang/tasks.hpp"

namespace iris::clang_library {
namespace {

using Check = void (*)(const lint::Model&, lint::Findings&);

/// In the order of rule_names.
constexpr std::array<Check, rule_names.size()> checks = {
    lint::check_remote_dereference,   lint::check_unsynchronized_signal, lint::check_ignored_wait,
    lint::check_divergent_barrier,    lint::check_divergent_exit,        lint::check_mismatched_flag,
    lint::check_uneven_steps,         lint::check_remote_scope,          lint::check_volatile,
    lint::check_early_workspace_read,
};

std::vector<Diagnostic> findings_of(const Parsed& parsed) {
  const lint::Model model(parsed.ast());
  lint::Findings findings(parsed.ast());
  for (const Check check : checks) check(model, findings);
  for (const clang::FunctionDecl* function : model.program.left_out()) {
    findings.remark(clang::SourceRange(function->getLocation()),
                    "this function is too large to be looked at as a whole");
  }
  return findings.take();
}

/// Those kernels that compile with the sample, and a note for each that does not.
std::vector<std::string> instantiable(ParseRequest request, const Parsed& parsed,
                                      const std::vector<std::string>& kernels, std::vector<Diagnostic>& notes) {
  std::vector<std::string> good;
  for (const std::string& kernel : kernels) {
    request.after = instances_with_sample(parsed.ast(), {kernel});
    const Parsed one(request);
    if (one.ok()) {
      good.push_back(kernel);
      continue;
    }
    Diagnostic note = one.diagnostics().front();
    note.severity = "note";
    note.message = "'" + kernel + "' is not looked at, since it does not compile with irisgen's sample Config (" +
                   note.message + "); instantiate it with a Config of your own in this file";
    notes.push_back(std::move(note));
  }
  return good;
}

}  // namespace

// Question: name, source, headers. Answer: findings, those of the front end alone where it has found an error.
nlohmann::json answer_lint(const nlohmann::json& question) {
  ParseRequest request = parse_request(question);
  const Parsed written(request);
  if (!written.ok()) return {{"findings", written.diagnostics()}};
  std::vector<std::string> kernels = kernels_without_config(written.ast());
  if (kernels.empty()) return {{"findings", findings_of(written)}};

  request.after = instances_with_sample(written.ast(), kernels);
  const Parsed instantiated(request);
  if (instantiated.ok()) return {{"findings", findings_of(instantiated)}};
  std::vector<Diagnostic> notes;
  kernels = instantiable(request, written, kernels, notes);
  request.after = instances_with_sample(written.ast(), kernels);
  std::vector<Diagnostic> findings = findings_of(Parsed(request));
  findings.insert(findings.end(), notes.begin(), notes.end());
  return {{"findings", findings}};
}

}  // namespace iris::clang_library
