#pragma once

#include <memory>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"

namespace iris {

/// What each rank must find in each argument that is written or updated: [output][rank], outputs in the order of the
/// arguments.
using ExpectedOutputs = std::vector<std::vector<irisgen::Expectation>>;

/// What says what the results of an operation must be.
class Reference {
 public:
  virtual ~Reference() = default;
  /// `inputs` holds for each rank the arguments that are read or updated, in order. Throws std::runtime_error.
  virtual ExpectedOutputs expect(const Manifest& manifest, const Extents& extents, const Scalars& scalars,
                                 const std::vector<std::vector<irisgen::Values>>& inputs) const = 0;
};

/// Pattern::reference; null for a kernel of the user's own.
std::shared_ptr<const Reference> reference_of_pattern(const Problem& problem);

/// That of the plan's pattern, with the functions that the description names; of a kernel of the user's own what its
/// description names, a function, compiled for the CPU by Clang, or files, and null where it says none. Throws
/// irisgen::SpecError for a source that is wrong, CompileError, std::runtime_error.
std::shared_ptr<const Reference> reference_of(const irisgen::Plan& plan);

}  // namespace iris
