#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/choose.hpp"

namespace irisgen {

/// Among how many ranks an extent of the problem is divided: its lengths are multiples of that.
std::int64_t shards_of(const Problem& problem, std::string_view extent);

/// Of extents that are not known.
inline constexpr std::int64_t nominal_extent = 4096;
/// The problem with every dynamic extent so long.
Problem at_nominal_size(const Problem& problem);

/// Of a product: few candidates, with which the lengths of one dynamic extent take little longer than with those that
/// the Plan would choose for each of them alone.
std::vector<Candidate> few_for_all_sizes(const KernelSpec& spec, const Problem& problem, const Target& target,
                                         std::span<const FunctionPlan> functions,
                                         const std::vector<Candidate>& candidates);

/// Whom to take for a static problem; by a measurement, or else by the model.
struct Best {
  const Candidate* candidate;
  bool is_measured;
};
using BestAt = std::function<Best(const Problem& problem)>;

/// Chooses for a problem whose size is known only at launch: who is best at each size, of a product at each length of
/// one extent, all of them in one operation.
void choose_by_size(const KernelSpec& spec, const Problem& problem, const Target& target,
                    std::span<const FunctionPlan> functions, const BestAt& best_at, Chosen& chosen);

}  // namespace irisgen
