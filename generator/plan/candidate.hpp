#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/planning.hpp"

namespace irisgen {

/// A variant of the pattern, and what its planning of a problem came to.
struct Candidate {
  const Variant* variant = nullptr;
  Settings config = {};                   ///< with which it was planned
  Draft draft = {};                       ///< where it can do the problem
  std::optional<SpecError> refusal = {};  ///< why it cannot
  bool lacks_key = false;                 ///< it does not understand a key of the config
};

/// A variant with this config, whose kernels call `functions`, those of the user's own. `launches`: nothing for any.
Candidate consider(const KernelSpec& spec, const Problem& problem, const Target& target, const Settings& config,
                   std::span<const FunctionPlan> functions, const Variant& variant,
                   const std::optional<Launches>& launches = {});
/// Every variant of the pattern, in its order.
std::vector<Candidate> consider_all(const KernelSpec& spec, const Problem& problem, const Target& target,
                                    const Settings& config, std::span<const FunctionPlan> functions,
                                    const std::optional<Launches>& launches = {});

/// Predicted microseconds of a launch of a static problem.
double time_of(const Candidate& candidate, const Problem& problem, const Target& target);
/// The candidate of the least predicted time, the first of several; null if none can.
const Candidate* fastest(const std::vector<Candidate>& candidates, const Problem& problem, const Target& target);

/// Throws SpecError where none can: what is wrong with the first that understands the config, or that none does.
[[noreturn]] void refuse_all(const KernelSpec& spec, const std::string& pattern, const Settings& config,
                             const std::vector<Candidate>& candidates);

}  // namespace irisgen
