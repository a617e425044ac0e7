#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generator/plan/choose.hpp"

namespace irisgen {

/// Whether launches of the problem can be told apart by one size, and the candidates go together in one operation.
bool can_share_sizes(const std::vector<Candidate>& candidates, const Problem& problem);

/// Of a product with one dynamic extent: few candidates, with which every size takes little longer than with the tiles,
/// and parts, that the Plan would choose for it alone.
std::vector<Candidate> few_for_all_sizes(const KernelSpec& spec, const Problem& problem, const Target& target,
                                         std::span<const FunctionPlan> functions,
                                         const std::vector<Candidate>& candidates);

/// `up to 4096 elements`; of a product `up to m = 64`.
std::string up_to_words(const Problem& problem, std::int64_t up_to);

/// The candidate to take for a static problem, the same one for all that it is to serve.
using BestAt = std::function<const Candidate*(const Problem& problem)>;

/// Chooses for a problem whose size is known only at launch: who is best at each size, all of them in one operation.
void choose_by_size(const Problem& problem, const BestAt& best_at, Chosen& chosen);

}  // namespace irisgen
