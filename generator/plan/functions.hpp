#pragma once

#include <optional>
#include <span>
#include <vector>

#include "generator/plan/planning.hpp"

/// Functions of the user's own within patterns.
namespace irisgen {

/// Reads those of the description. Throws SpecError, with the places that are wrong.
std::vector<FunctionPlan> read_functions(const KernelSpec& spec, const Problem& problem);

/// Makes the kernels of a variant's draft call them: prologue and operation those that reduce, the epilogue the one
/// that makes the results. The prologue of a product becomes a step before it. Throws SpecError where the variant's
/// kernels cannot.
void attach_functions(const Request& request, const Variant& variant, std::span<const FunctionPlan> functions,
                      Draft& draft);

/// What is to be told of the step by which a draft applies the prologue of a product; nothing where it has none.
std::optional<Choice> choice_of_prologue(std::span<const FunctionPlan> functions, const Problem& problem,
                                         const Target& target, const Draft& draft);

}  // namespace irisgen
