#pragma once

#include <span>
#include <string_view>

#include "iris/kernel.hpp"

namespace iris {

/// One build of a kernel, as data in the program: what `irisgen compile --embed` writes and the typed launchers read.
struct EmbeddedKernel {
  std::string_view manifest;            ///< JSON
  std::span<const unsigned char> code;  ///< the code object
  std::string_view compiler;            ///< name and version of what made it
};

/// The build for a world of that size on that target. Throws std::runtime_error that names the builds there are, or if
/// the manifest is not of this irisgen's version.
BuiltKernel find_embedded(std::span<const EmbeddedKernel> builds, int world, std::string_view target);

}  // namespace iris
