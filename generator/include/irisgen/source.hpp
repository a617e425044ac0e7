#pragma once

#include <map>
#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

namespace irisgen {

struct SourceOptions {
  /// Bring along the parts of device/ that the kernel uses, instead of including them from an installed irisgen.
  bool self_contained = false;
};

/// Plan to HIP source: banner, Config, kernel, entry. Pure: the same bytes from run to run and machine to machine.
std::string emit_kernel(const Plan& plan, const SourceOptions& options = {});

/// Replaces every marker `/*${key}*/sample` of a template, the sample being the characters up to white space or one of
/// `;,()`. A marker without a sample takes the blanks before it along. Throws std::logic_error naming an unknown or an
/// unused key.
std::string substitute(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace irisgen
