#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iris/tune.hpp"
#include "irisgen/tuning_space.hpp"

namespace iris {

/// What a search asks of candidates.
class CandidateBench {
 public:
  using Candidates = std::span<const irisgen::TuningCandidate* const>;

  virtual ~CandidateBench() = default;
  /// For each, why it must not be taken (it does not compile, cannot be launched, is wrong); empty if it is right.
  virtual std::vector<std::string> verify(Candidates candidates) = 0;
  struct Timing {
    double time_us = 0;    ///< median of the batches
    std::string why = {};  ///< it could not be timed
  };
  /// Of each, which has been verified, so many batches, in turns with those of the others.
  virtual std::vector<Timing> time(Candidates candidates, int batches) = 0;
};

struct SearchOptions {
  int batches = 9;                         ///< of the last few
  std::function<bool()> out_of_time = {};  ///< asked before each group of candidates; absent: never
  std::function<void(std::string_view doing, int candidates)> progress = {};
};

/// Tries candidates as tune_operation says, and fills in `candidates`, `best` and `complete` of the problem.
void search(std::span<const irisgen::TuningCandidate> candidates, CandidateBench& bench, const SearchOptions& options,
            TunedProblem& problem);

}  // namespace iris
