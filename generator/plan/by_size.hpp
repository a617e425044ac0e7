#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generator/plan/choose.hpp"

namespace irisgen {

/// Of extents that are not known.
inline constexpr std::int64_t nominal_extent = 4096;
/// The problem with every dynamic extent so long.
Problem at_nominal_size(const Problem& problem);

/// Whether launches of the problem are told apart by their size, of a product by the length of one extent, and the
/// candidates go together in one operation.
bool can_share_sizes(const std::vector<Candidate>& candidates, const Problem& problem);

/// A product's variant with this config, and beside it the tiles and parts that it would take for `sized`, which is the
/// problem with its extents known.
Candidate with_shape_for(const Problem& sized, const KernelSpec& spec, const Problem& problem, const Target& target,
                         Settings config, std::span<const FunctionPlan> functions, const Variant& variant);

/// Of a product: few candidates, with which the lengths of one dynamic extent take little longer than with the tiles,
/// and parts, that the Plan would choose for each of them alone.
std::vector<Candidate> few_for_all_sizes(const KernelSpec& spec, const Problem& problem, const Target& target,
                                         std::span<const FunctionPlan> functions,
                                         const std::vector<Candidate>& candidates);

/// Whom to take for a static problem; by a measurement, or else by the model.
struct Best {
  const Candidate* candidate;
  bool is_measured;
};
using BestAt = std::function<Best(const Problem& problem)>;

/// Chooses for a problem whose size is known only at launch: who is best at each size, all of them in one operation.
void choose_by_size(const KernelSpec& spec, const Problem& problem, const Target& target,
                    std::span<const FunctionPlan> functions, const BestAt& best_at, Chosen& chosen);

}  // namespace irisgen
