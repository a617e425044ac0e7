#pragma once

#include <deque>
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

/// The problem with its last dynamic extent such that it has about that size, and the others 1.
Problem at_size(const Problem& problem, std::int64_t size);

/// The variants of a collective of open size, some of whose kernels depend on how much a launch moves, as lines of
/// low_latency do.
class AtEverySize {
 public:
  /// `candidates`: every variant, planned for any launch.
  AtEverySize(const KernelSpec& spec, const Problem& problem, const Target& target,
              std::span<const FunctionPlan> functions, const std::vector<Candidate>& candidates);

  /// The fastest for launches of this static problem, one of the variants at least being able to; valid as long as
  /// this.
  const Candidate* fastest_at(const Problem& sized);

 private:
  const KernelSpec& spec_;
  const Problem& problem_;
  const Target& target_;
  std::span<const FunctionPlan> functions_;
  std::vector<Candidate> of_any_size_;
  std::vector<const Variant*> dependent_;
  std::deque<Candidate> of_some_size_;  ///< of those, one for each size that was asked for
};

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
