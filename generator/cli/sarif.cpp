#include <algorithm>
#include <array>

#include "generator/cli/lint_report.hpp"
#include "generator/language/unicode.hpp"
#include "iris/lint.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;
using Severity = SourceDiagnostic::Severity;

/// A relative or absolute path as a URI: what has a meaning in one is written as %xx.
std::string uri_of(const std::string& path) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (plain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return uri;
}

/// Of a column in bytes that in code points.
int column_of(const std::string& line, int bytes) {
  int column = 1;
  for (std::size_t offset = 0; offset < line.size() && static_cast<int>(offset) + 1 < bytes; ++column) {
    offset += decode(line, offset).bytes;
  }
  return column;
}

Json region_of(const SourceRange& where) {
  Json region = {{"startLine", std::max(where.line, 1)}, {"startColumn", column_of(where.source_line, where.column)}};
  const bool one_line = where.end_line == where.line;
  region["endLine"] = std::max(where.end_line, 1);
  region["endColumn"] = one_line ? column_of(where.source_line, where.end_column) : std::max(where.end_column, 1);
  return region;
}

Json location_of(const SourceRange& where) {
  return {{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(where.file)}}}, {"region", region_of(where)}}}};
}

/// The replacements of a finding belong together: half of them is no remedy.
Json fix_of(const std::vector<FixIt>& fix_its) {
  Json replacements = Json::array();
  for (const FixIt& fix_it : fix_its) {
    replacements.push_back({{"deletedRegion", region_of(fix_it.where)}, {"insertedContent", {{"text", fix_it.text}}}});
  }
  const Json change = {{"artifactLocation", {{"uri", uri_of(fix_its.front().where.file)}}},
                       {"replacements", std::move(replacements)}};
  return {{"description", {{"text", "What would be right"}}}, {"artifactChanges", Json::array({change})}};
}

Json result_of(const SourceDiagnostic& finding) {
  constexpr std::array levels = {"error", "warning", "note"};
  Json result = {{"ruleId", finding.rule.empty() ? "compiler" : finding.rule},
                 {"level", levels[static_cast<std::size_t>(finding.severity)]},
                 {"message", {{"text", finding.message}}},
                 {"locations", Json::array({location_of(finding.where)})}};
  for (const SourceDiagnostic& note : finding.notes) {
    Json related = location_of(note.where);
    related["message"] = {{"text", note.message}};
    result["relatedLocations"].push_back(std::move(related));
  }
  if (!finding.fix_its.empty()) result["fixes"] = Json::array({fix_of(finding.fix_its)});
  return result;
}

}  // namespace

Json to_sarif(const std::vector<LintedFile>& files) {
  Json rules = Json::array();
  for (const iris::LintRule& rule : iris::lint_rules()) {
    rules.push_back({{"id", rule.name}, {"shortDescription", {{"text", rule.summary}}}});
  }
  rules.push_back({{"id", "compiler"}, {"shortDescription", {{"text", "what the compiler says"}}}});
  Json results = Json::array();
  for (const LintedFile& file : files) {
    for (const SourceDiagnostic& finding : file.findings) results.push_back(result_of(finding));
  }
  const Json driver = {{"name", "irisgen lint"}, {"version", IRISGEN_VERSION}, {"rules", std::move(rules)}};
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       Json::array(
           {{{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}}})}};
}

}  // namespace irisgen::cli
