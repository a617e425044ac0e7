#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "irisgen/source_diagnostic.hpp"

namespace iris {

/// Those of an answer of ask().
std::vector<irisgen::SourceDiagnostic> source_diagnostics(const nlohmann::json& diagnostics);

}  // namespace iris
