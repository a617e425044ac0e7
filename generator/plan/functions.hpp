#pragma once

#include <span>
#include <vector>

#include "generator/plan/planning.hpp"

/// Functions of the user's own within patterns.
namespace irisgen {

/// Reads those of the description. Throws SpecError, with the places that are wrong.
std::vector<FunctionPlan> read_functions(const KernelSpec& spec, const Problem& problem);

/// Makes the kernels of a draft call them: prologue and operation those that reduce, the epilogue the one that makes
/// the results. Throws SpecError where the variant's kernels cannot.
void attach_functions(const Request& request, std::span<const FunctionPlan> functions, Draft& draft);

}  // namespace irisgen
