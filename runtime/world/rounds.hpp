#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iris/device.hpp"
#include "runtime/world/collectives.hpp"

namespace iris {

/// The collective calls of ranks that are threads of this process: of all, and of groups. If a rank has left, those of
/// the others that it belongs to fail; so do those of ranks that wait for one another.
class Rounds {
 public:
  struct Failure {
    int rank;
    std::exception_ptr error;
  };
  struct Round;
  /// Ranks that make calls together, in ascending order, and the next of these calls to be concluded.
  struct Circle {
    std::vector<int> ranks;
    std::shared_ptr<Round> round;
  };

  /// `observer` may be null; it is told whenever a rank begins or ceases to wait.
  Rounds(int ranks, RankObserver* observer);

  /// All ranks are present and running again.
  void begin();

  const std::shared_ptr<Circle>& of_all() const { return all_; }
  /// One that all of these ranks are given alike once every one of them has asked for it.
  std::shared_ptr<Circle> among(int rank, CollectiveCall call, std::vector<int> ranks);

  /// As those of Collectives, in ascending order of the circle's ranks. `memory` is what one of them brings.
  std::vector<std::string> all_gather(Circle& circle, int rank, CollectiveCall call, std::string content);
  std::shared_ptr<void> share_memory(Circle& circle, int rank, CollectiveCall call, std::shared_ptr<void> memory);

  /// The rank will come no more: its body has returned, or failed if `error` is set.
  void leave(int rank, std::exception_ptr error = nullptr);

  /// The failure that came first; if others failed with the same words, that of the lowest rank. Since begin().
  std::optional<Failure> failure() const;

 private:
  std::shared_ptr<Round> meet(Circle& circle, int rank, CollectiveCall call, std::string content,
                              std::shared_ptr<void> memory = nullptr);
  void conclude(Circle& circle, std::string verdict, int caller);
  void fail_deadlocked(int caller);
  std::string describe_absence(int rank) const;

  const int ranks_;
  RankObserver* observer_;
  mutable std::mutex mutex_;
  std::condition_variable concluded_;
  std::shared_ptr<Circle> all_;
  std::map<int, Circle*> waiting_;  // by the rank that waits
  std::vector<int> gone_;           // ranks, in the order in which they left
  std::vector<Failure> failures_;   // in the order of time

  std::map<std::vector<int>, Circle> makers_;  // of circles, by the ranks that ask for them together
};

/// Those of one thread's rank, with all others or with those of a group.
class ThreadCollectives final : public WorldCollectives {
 public:
  /// `ranks`: those of the circle, in the order of the group.
  ThreadCollectives(Rounds& rounds, std::shared_ptr<Rounds::Circle> circle, std::vector<int> ranks, int world_rank);

  int rank() const override { return rank_; }
  const std::vector<int>& ranks() const override { return ranks_; }
  std::vector<std::string> all_gather(CollectiveCall call, std::string content) override;
  std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) override;
  std::unique_ptr<Collectives> among(const std::vector<int>& ranks) override;

 private:
  Rounds& rounds_;
  std::shared_ptr<Rounds::Circle> circle_;
  std::vector<int> ranks_;
  int world_rank_;
  int rank_;
};

}  // namespace iris
