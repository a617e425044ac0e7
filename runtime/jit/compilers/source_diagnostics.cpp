#include "runtime/jit/compilers/source_diagnostics.hpp"

#include <nlohmann/json.hpp>

namespace iris {
namespace {

using irisgen::SourceDiagnostic;
using irisgen::SourceRange;
using nlohmann::json;

SourceRange range_of(const json& place) {
  return {.file = place.at("file").get<std::string>(),
          .line = place.at("line").get<int>(),
          .column = place.at("column").get<int>(),
          .end_line = place.at("end_line").get<int>(),
          .end_column = place.at("end_column").get<int>(),
          .source_line = place.at("source_line").get<std::string>()};
}

SourceDiagnostic::Severity severity_of(const std::string& word) {
  if (word == "error") return SourceDiagnostic::Severity::error;
  return word == "warning" ? SourceDiagnostic::Severity::warning : SourceDiagnostic::Severity::note;
}

SourceDiagnostic source_diagnostic(const json& diagnostic) {
  SourceDiagnostic result = {.severity = severity_of(diagnostic.at("severity").get<std::string>()),
                             .rule = diagnostic.at("rule").get<std::string>(),
                             .message = diagnostic.at("message").get<std::string>(),
                             .where = range_of(diagnostic.at("place"))};
  for (const json& note : diagnostic.at("notes")) result.notes.push_back(source_diagnostic(note));
  for (const json& fix_it : diagnostic.at("fix_its")) {
    result.fix_its.push_back({range_of(fix_it.at("place")), fix_it.at("text").get<std::string>()});
  }
  return result;
}

}  // namespace

std::vector<SourceDiagnostic> source_diagnostics(const json& diagnostics) {
  std::vector<SourceDiagnostic> result;
  result.reserve(diagnostics.size());
  for (const json& diagnostic : diagnostics) result.push_back(source_diagnostic(diagnostic));
  return result;
}

}  // namespace iris
