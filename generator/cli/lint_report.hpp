#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iris/lint.hpp"

namespace irisgen::cli {

/// What lint says of one file.
struct LintedFile {
  std::string name;
  std::vector<iris::LintFinding> findings;
};

/// Each finding as Clang shows it: `file:line:column: warning: message [rule]`, the line, its range marked and the text
/// that would be right below that, then the notes. Ends with a newline unless it is empty. `color` uses ANSI escapes.
std::string render(const LintedFile& file, bool color);

nlohmann::ordered_json to_json(const std::vector<LintedFile>& files);

/// SARIF 2.1.0, the format of code scanning: one run, columns in Unicode code points.
nlohmann::ordered_json to_sarif(const std::vector<LintedFile>& files);

}  // namespace irisgen::cli
