#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "iris/manifest.hpp"
#include "irisgen/plan.hpp"

namespace irisgen {

/// The launcher's class: gradient_sum → GradientSum.
std::string class_name(std::string_view kernel_name);

/// NAME.hpp: a class in namespace irisgen_kernels whose call operator takes the kernel's buffers as typed pointers. It
/// picks the build for the world at hand among those embedded in the program, and launches it from its manifest.
/// `plans` are those of one kernel, for all its worlds and targets; at least one.
std::string emit_launcher(std::span<const Plan> plans);

/// One build of one kernel, to be embedded in a program.
struct EmbeddedBuild {
  Manifest manifest;
  std::span<const std::byte> code;
  std::string compiler;  ///< name and version
};

/// A C++ source that carries the builds as data and defines `embedded()` of their launchers, whose NAME.hpp must lie
/// where the compiler finds it.
std::string emit_embedding(std::span<const EmbeddedBuild> builds);

}  // namespace irisgen
