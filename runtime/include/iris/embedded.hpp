#pragma once

#include <span>
#include <string_view>

#include "iris/operation.hpp"

namespace iris {

/// One build of an operation, as data in the program: what `irisgen compile --embed` writes and the typed launchers
/// read.
struct EmbeddedOperation {
  std::string_view manifest;                             ///< JSON
  std::span<const std::span<const unsigned char>> code;  ///< the code object of each kernel
  std::string_view compiler;                             ///< name and version of what made them
};

/// The build for a world of that size on that target. Throws std::runtime_error that names the builds there are, or if
/// the manifest is not of this irisgen's version.
BuiltOperation find_embedded(std::span<const EmbeddedOperation> builds, int world, std::string_view target);

}  // namespace iris
