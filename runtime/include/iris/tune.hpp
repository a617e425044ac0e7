#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"
#include "irisgen/tuning.hpp"

namespace iris {

/// A way to do a problem, and what it came to.
struct TriedCandidate {
  std::string variant;
  irisgen::Settings config = {};     ///< beside the description's own
  irisgen::Settings constants = {};  ///< of a kernel of the user's own, of the lists in its description
  double predicted_us = 0;           ///< by the plan
  double time_us = 0;                ///< median of the slowest rank; 0: not measured
  std::string why = {};              ///< it was not measured
  bool failed = false;               ///< because it does not compile, cannot be launched or is wrong
};

/// A problem and all that was tried.
struct TunedProblem {
  Problem problem = {};
  std::int64_t bytes = 0;                       ///< as nccl-tests counts them; 0 for a fused kernel
  bool known = false;                           ///< the table has it already: nothing was measured
  bool complete = true;                         ///< no candidate was left out for want of time
  std::vector<TriedCandidate> candidates = {};  ///< the first is what `auto` takes without a table
  int best = -1;                                ///< of the candidates; -1: none is right

  int count_measured() const;
  /// Of each variant that was measured, the time of its fastest configuration.
  std::map<std::string, double> fastest_of_variants() const;
};

struct TuneReport {
  std::string kernel = {};  ///< its name
  std::string device = {};
  std::string driver = {};
  std::vector<TunedProblem> problems = {};  ///< those that there was time for
  bool complete = true;                     ///< there was time for all
};

struct TuneOptions {
  std::vector<std::int64_t> sizes = {};  ///< bytes, for collectives; empty: the kernel's own shape, which is static
  double budget_s = std::numeric_limits<double>::infinity();  ///< no candidate is begun after so many seconds
  int batches = 9;                                            ///< of which the last few candidates' medians are taken
  std::uint64_t seed = 0;                                     ///< of the data
  std::string compiler = {};                                  ///< as for build_operation
  /// This process is one rank (World::join). Collective: all say the same but for `known` and `budget_s`, of which rank
  /// 0's count; the report is the same in all processes.
  bool processes = false;
  /// What it has measured on this device, driver and irisgen is not measured again; but what a kernel's `tune:` asks
  /// for is.
  irisgen::TuningTable known = {};

  /// Called from the calling thread: which problem of how many, and what is being done with so many candidates.
  std::function<void(int problem, int problems, std::string_view doing, int candidates)> progress = {};
  /// Called as soon as a problem is done, so that nothing is lost: what a table may keep. Not of a kernel that sets its
  /// variant or config itself: what is best under that condition is nothing for `auto` (irisgen::is_left_to_plan).
  std::function<void(const irisgen::TuningEntry& entry)> found = {};
};

/// Measures on this machine's GPUs, one for each rank, how a kernel runs best. Of each problem: the Plan's own choice
/// of every variant that the model does not think hopeless, then of those variants that are near the fastest of these
/// the other configurations (irisgen::tuning_candidates), then the few fastest again, in turns with what is taken
/// without a table. Each candidate's results are verified, every element against float64, before it is timed; of a
/// large problem the same variant and config at a smaller size (irisgen::verification_problem). A candidate is only
/// preferred to the untuned choice if it is faster by more than 1 %. Throws a sentence for the host target, for more
/// ranks than GPUs, and what planning throws.
TuneReport tune_operation(const irisgen::KernelSpec& kernel, int world, const irisgen::Target& target,
                          const TuneOptions& options = {});

}  // namespace iris
