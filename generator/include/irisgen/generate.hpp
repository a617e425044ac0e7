#pragma once

#include <span>
#include <string>
#include <vector>

#include "irisgen/plan.hpp"
#include "irisgen/source.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {

/// A file of the output folder: a plain name, and what it holds.
struct OutputFile {
  std::string name;
  std::string content;
};

/// The plans of every kernel, for each of its worlds on each target, in the order of the description. Throws SpecError
/// with every error of all of them.
std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets);

/// What `irisgen generate` writes: of each kernel, world and target the source (STEM.hip) and the manifest (STEM.json),
/// and of each kernel the typed launcher (NAME.hpp). Pure. Throws SpecError.
std::vector<OutputFile> generate(const Spec& spec, std::span<const Target* const> targets,
                                 const SourceOptions& options = {});

}  // namespace irisgen
