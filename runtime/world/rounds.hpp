#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iris/device.hpp"
#include "runtime/world/collectives.hpp"

namespace iris {

/// The collective calls of ranks that are threads of this process. If a rank has left, those of the others fail.
class Rounds {
 public:
  struct Failure {
    int rank;
    std::exception_ptr error;
  };

  /// `observer` may be null; it is told whenever a rank begins or ceases to wait.
  Rounds(int ranks, RankObserver* observer);

  /// All ranks are present and running again.
  void begin();

  /// As those of Collectives.
  std::vector<std::string> all_gather(int rank, CollectiveCall call, std::string content);
  std::shared_ptr<void> share_memory(int rank, CollectiveCall call, std::size_t bytes);

  /// The rank will come no more: its body has returned, or failed if `error` is set.
  void leave(int rank, std::exception_ptr error = nullptr);

  /// The failure that came first; if others failed with the same words, that of the lowest rank. Since begin().
  std::optional<Failure> failure() const;

 private:
  /// One collective call: kept by each rank that waits in it until it has read the verdict.
  struct Round {
    std::vector<std::optional<CollectiveCall>> calls;  // of the ranks that have arrived
    std::vector<std::string> contents;
    std::shared_ptr<void> memory;  // rank 0's
    bool over = false;
    std::string verdict;  // empty if all went well
  };

  std::shared_ptr<Round> meet(int rank, CollectiveCall call, std::string content = {},
                              std::shared_ptr<void> memory = nullptr);
  std::shared_ptr<Round> new_round() const;
  void conclude(std::string verdict, int caller);
  std::string describe_absence(int rank) const;

  const int ranks_;
  RankObserver* observer_;
  mutable std::mutex mutex_;
  std::condition_variable concluded_;
  std::shared_ptr<Round> round_;   // the next to be concluded
  std::vector<int> gone_;          // ranks, in the order in which they left
  std::vector<Failure> failures_;  // in the order of time
};

/// Those of one thread's rank.
class ThreadCollectives final : public Collectives {
 public:
  ThreadCollectives(int rank, Rounds& rounds) : rank_(rank), rounds_(rounds) {}

  int rank() const override { return rank_; }
  std::vector<std::string> all_gather(CollectiveCall call, std::string content) override {
    return rounds_.all_gather(rank_, std::move(call), std::move(content));
  }
  std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) override {
    return rounds_.share_memory(rank_, std::move(call), bytes);
  }

 private:
  int rank_;
  Rounds& rounds_;
};

}  // namespace iris
