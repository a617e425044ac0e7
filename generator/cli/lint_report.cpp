#include "generator/cli/lint_report.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const SourceRange& where) {
  return {{"file", where.file},
          {"line", where.line},
          {"column", where.column},
          {"end_line", where.end_line},
          {"end_column", where.end_column}};
}

Json json_of(const SourceDiagnostic& finding) {
  Json json = {{"severity", to_string(finding.severity)}, {"rule", finding.rule}, {"message", finding.message}};
  json.update(json_of(finding.where));
  json["notes"] = Json::array();
  for (const SourceDiagnostic& note : finding.notes) json["notes"].push_back(json_of(note));
  json["fix_its"] = Json::array();
  for (const FixIt& fix_it : finding.fix_its) {
    Json replaced = json_of(fix_it.where);
    replaced["text"] = fix_it.text;
    json["fix_its"].push_back(std::move(replaced));
  }
  return json;
}

}  // namespace

std::string render(const LintedFile& file, bool color) {
  std::string text;
  for (const SourceDiagnostic& finding : file.findings) text += render(finding, color);
  return text;
}

Json to_json(const LintedFile& file) {
  Json findings = Json::array();
  for (const SourceDiagnostic& finding : file.findings) findings.push_back(json_of(finding));
  return {{"file", file.name}, {"findings", std::move(findings)}};
}

Json to_json(const std::vector<LintedFile>& files) {
  Json all = Json::array();
  for (const LintedFile& file : files) all.push_back(to_json(file));
  return all;
}

}  // namespace irisgen::cli
