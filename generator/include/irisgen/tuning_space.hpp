#pragma once

#include <string>
#include <vector>

#include "irisgen/plan.hpp"

namespace irisgen {

/// One way to do a problem.
struct TuningCandidate {
  std::string variant;
  Settings config = {};     ///< beside the description's own
  Settings constants = {};  ///< a combination of the lists in `constants` of a kernel of the user's own
  Plan plan = {};
};

/// What is worth measuring for a kernel of static shape: of each deterministic variant that can do it (or the one that
/// the description names), and of each combination of a user's constants, first the Plan's own choice, with an empty
/// config, then what the description's `tune:` asks
/// for, or where it has none, values near the Plan's own. Variants come in the order of their predicted times. No two
/// candidates are the same kernels. Throws SpecError where no variant can.
std::vector<TuningCandidate> tuning_candidates(const KernelSpec& kernel, int world, const Target& target);

/// Of a large problem a small one that is divided into tiles, packs and shards alike, so that what computes it can be
/// verified in moments. A small problem is its own.
Problem verification_problem(const Problem& problem);

/// The candidate's variant for the verification_problem, with its numbers of blocks, threads, packs and tiles as far as
/// a problem of that size can have them; the candidate's own plan if none can be made.
Plan verification_plan(const KernelSpec& kernel, int world, const Target& target, const TuningCandidate& candidate);

}  // namespace irisgen
