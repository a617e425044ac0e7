#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/plan.hpp"

namespace irisgen {

struct LauncherOptions {
  /// The launchers' namespace, as in `app::kernels`.
  std::string name_space = "irisgen_kernels";
  /// A line for the top of the file, as in "SPDX-License-Identifier: MIT"; empty: none.
  std::string license = {};

  /// That line as a comment.
  std::string license_comment() const { return license.empty() ? "" : "// " + license + "\n"; }
};

/// What one typed launcher is made from: an operation's plan for one world and target.
struct LauncherBuild {
  const Plan* plan;
  const iris::Manifest* manifest;
};

/// NAME.hpp: a class whose call operator takes the operation's buffers as typed pointers, or as tensors. It picks the
/// build for the world at hand among those embedded in the program, and launches it from its manifest. `builds` are
/// those of one kernel of the description, for all its worlds and targets; at least one. The class stands in an inline
/// namespace that carries a hash of their manifests, so that two libraries of one program may each hold a kernel of one
/// name.
std::string emit_launcher(std::span<const LauncherBuild> builds, const LauncherOptions& options = {});

/// One compiled build of one operation, to be embedded in a program.
struct EmbeddedBuild {
  iris::Manifest manifest;
  std::vector<std::span<const std::byte>> code;  ///< of each kernel
  std::string compiler;                          ///< name and version
};

/// A C++ source that carries the builds as data and defines `embedded()` of their launchers, whose NAME.hpp, made with
/// the same options, must lie where the compiler finds it.
std::string emit_embedding(std::span<const EmbeddedBuild> builds, const LauncherOptions& options = {});

/// Whether `text` names a namespace: identifiers joined by `::`, none of them reserved.
bool is_namespace(std::string_view text);

}  // namespace irisgen
