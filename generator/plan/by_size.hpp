#pragma once

#include <functional>

#include "generator/plan/choose.hpp"

namespace irisgen {

/// The candidate to take for a static problem, the same one for all that it is to serve.
using BestAt = std::function<const Candidate*(const Problem& problem)>;

/// Chooses for a collective whose size is known only at launch: who is best at each size, all of them in one operation.
void choose_by_size(const Problem& problem, const BestAt& best_at, Chosen& chosen);

}  // namespace irisgen
