#pragma once

#include <string>
#include <vector>

#include "iris/world.hpp"

namespace iris {

/// What processes that measure together decide, which all must decide alike: by what rank 0 sees, or by what any does.
/// Where ranks are threads, one decides for all. Every process calls each of these in the same order.
class JointDecision {
 public:
  /// `ranks` is of processes, of which this is one; null where ranks are threads.
  explicit JointDecision(World* ranks) : ranks_(ranks) {}

  /// What rank 0 says.
  std::string of_rank_0(const std::string& own) const;
  bool of_rank_0(bool own) const { return !of_rank_0(std::string(own ? "yes" : "")).empty(); }
  /// For each of these, the words of the first rank that has any.
  std::vector<std::string> first_words(const std::vector<std::string>& own) const;

 private:
  std::vector<std::string> gather(const std::string& own) const;

  World* ranks_;
};

}  // namespace iris
