#pragma once

#include <vector>

#include "generator/plan/planning.hpp"

/// Collectives that copy engines do.
namespace irisgen {

/// Between two barriers of all ranks each copies a block of m · n elements of its input to one peer's output after
/// another, so that at no time two ranks send to the same one; a kernel copies its own beside them.
Draft plan_copies(const Request& request, const std::vector<Argument>& arguments, iris::BlockIndex from_block);
std::vector<Work> cost_of_copies(const Problem& problem, const Target& target, const Draft& draft);

}  // namespace irisgen
