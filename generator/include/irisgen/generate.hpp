#pragma once

#include <span>
#include <string>
#include <vector>

#include "irisgen/launcher.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {

/// A file of the output folder: a plain name, and what it holds.
struct OutputFile {
  std::string name;
  std::string content;
};

struct GenerateOptions {
  PlanOptions plan = {};
  /// Bring along what the kernels use of device/, instead of including it from an installed irisgen.
  bool self_contained = false;
  /// For programs without irisgen's runtime: self-contained sources, and STEM.bare.hpp (bare.hpp) in the place of
  /// manifest and launcher. The targets are GPUs.
  bool bare = false;
  /// The launchers' namespace, and a line for the top of every file.
  LauncherOptions launcher = {};
};

/// What `irisgen generate` writes, unless `bare` says otherwise: of each kernel, world and target the sources
/// (STEM.hip, or STEM.PART.hip of an operation's parts) and the manifest (STEM.json), and of each kernel the typed
/// launcher (NAME.hpp). Pure. Throws SpecError.
std::vector<OutputFile> generate(const Spec& spec, std::span<const Target* const> targets,
                                 const GenerateOptions& options = {});

}  // namespace irisgen
