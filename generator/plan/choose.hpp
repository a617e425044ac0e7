#pragma once

#include <utility>

#include "generator/plan/candidate.hpp"

namespace irisgen {

/// Plan::spec_hash, of a description and of the text of what it names.
std::string spec_hash_of(const KernelSpec& kernel, int world, const std::string& sources);

/// The draft that was taken, and what stood beside it.
struct Chosen {
  std::string variant;  ///< `by_size` where several share the sizes of a dynamic problem
  bool deterministic = true;
  Draft draft;  ///< its steps are those of the only schedule, unless there are several:
  std::vector<iris::Schedule> schedules;
  std::string reason;
  std::vector<Alternative> alternatives;
  std::string measured_at = {};  ///< as Plan's
  Prediction prediction;

  /// This candidate and no other.
  void take(const Candidate& candidate, std::string why);
};

/// The one function that chooses, for all patterns: the variant that the description names; else the tuning table's;
/// else, of those that can do the problem with the config that the user set, the one of the least predicted time. Where
/// sizes are known only at launch and differ in what is best, several. Throws SpecError if none can.
Chosen choose(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options,
              std::span<const FunctionPlan> functions);

/// The same for a problem within another one: one variant, in the order of prediction alone.
std::pair<const Variant*, Draft> choose_part(const Request& request);

}  // namespace irisgen
