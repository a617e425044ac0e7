#pragma once

#include <span>
#include <string>

#include "irisgen/launcher.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/source.hpp"

namespace irisgen {

/// STEM.bare.hpp, a plan's header for programs without irisgen's runtime: gradient_sum.w8.gfx942.bare.hpp.
std::string bare_header_name(const Plan& plan);

/// A class that launches the plan's operation on memory, streams and ranks of the program's own. It includes the
/// self-contained `sources`, which are the plan's own, and needs of libraries HIP's runtime alone, or CUDA's for
/// NVIDIA.
std::string emit_bare(const Plan& plan, std::span<const Source> sources, const LauncherOptions& options = {});

}  // namespace irisgen
