#pragma once

#include <string>

#include "irisgen/spec.hpp"

/// Descriptions of one kernel, and what is said first of a wrong one.
namespace irisgen {

/// A kernel in flow style, its defaults changed by `more`, which starts with a comma.
inline std::string spec_with(const std::string& pattern, const std::string& shape, const std::string& more = "") {
  return "irisgen: 1\nkernels: [{name: k, pattern: " + pattern + ", dtype: f32, world: 4, shape: {" + shape + "}" +
         more + "}]\n";
}

inline std::string error_of(const std::string& text) {
  try {
    parse_spec("spec.yaml", text);
    return "";
  } catch (const SpecError& error) {
    return error.report().diagnostics().front().message;
  }
}

}  // namespace irisgen
