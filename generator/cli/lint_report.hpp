#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "irisgen/source_diagnostic.hpp"

namespace irisgen::cli {

/// What lint says of one file.
struct LintedFile {
  std::string name;
  std::vector<SourceDiagnostic> findings;
};

/// Every finding as irisgen::render shows it.
std::string render(const LintedFile& file, bool color);

nlohmann::ordered_json to_json(const LintedFile& file);
nlohmann::ordered_json to_json(const std::vector<LintedFile>& files);

/// SARIF 2.1.0, the format of code scanning: one run, columns in Unicode code points.
nlohmann::ordered_json to_sarif(const std::vector<LintedFile>& files);

}  // namespace irisgen::cli
