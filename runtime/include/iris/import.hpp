#pragma once

#include <string>
#include <vector>

#include "irisgen/source_diagnostic.hpp"

namespace iris {

struct ImportOptions {
  std::string entry = {};   ///< which kernel of the source; empty: the only one
  std::string source = {};  ///< the source's path as the description has it: relative to where that will lie
  int world = 0;            ///< 0: what the source says, else 8
};

/// A kernel that exists, as a first description of it.
struct ImportedKernel {
  std::string entry = {};
  bool complete = false;         ///< it is written in the vocabulary: the description holds as it stands
  std::string description = {};  ///< YAML, with comments on what is a guess; empty where no kernel could be described
  /// What must change in the source, each with its remedy, in the order of their places; rules are `import-…`. An error
  /// says why there is no description.
  std::vector<irisgen::SourceDiagnostic> findings = {};
};

/// Reads a kernel of HIP or CUDA, or one in the vocabulary of <iris/device/…>, by Clang: nothing of it runs, and
/// neither HIP nor CUDA need be installed. `name` is shown in messages, and what the source includes by "…" is looked
/// for next to it. Throws std::runtime_error where Clang is not on this machine, with the package that brings it, and
/// where it crashes.
ImportedKernel import_kernel(const std::string& name, const std::string& source, const ImportOptions& options = {});

}  // namespace iris
