#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/cli/assignments.hpp"
#include "iris/run.hpp"
#include "irisgen/plan.hpp"

namespace irisgen::cli {

/// What the command line gives to a launch.
struct Inputs {
  std::map<std::string, iris::BuffersOfRanks> buffers;  ///< by argument
  iris::Extents extents;                                ///< every extent
};

/// Reads every rank's file of every input, and finds the dynamic extents in `extents`, of which those of other kernels
/// are passed over, or in the files' shapes. A file's shape must be its argument's; where rows have only one (m is 1) a
/// flat array serves as well. Throws UsageError for an unknown argument or an extent that is missing, and
/// std::runtime_error naming file, what was expected and what was found.
Inputs read_inputs(const Plan& plan, const Assignments& patterns, const Assignments& extents);

/// Throws UsageError unless each pattern names an output of the kernel and, for every rank, a file of its own in a
/// folder that is there, which overwrites none of the `inputs` and nothing but an .npy file.
void check_output_patterns(const Plan& plan, const Assignments& patterns, const Assignments& inputs);

/// A shape as users see it: without the one row of a plain vector, (1, n) becoming (n,).
std::vector<std::int64_t> shown_shape(const std::vector<std::int64_t>& shape);

/// Writes every rank's output to its file.
void write_outputs(const Plan& plan, const Assignments& patterns, const iris::RunReport& report);

/// "[3, 17]", the place of a row-major index in an array of that shape.
std::string place_in(const std::vector<std::int64_t>& shape, std::int64_t index);

/// "(8, 85002)"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace irisgen::cli
