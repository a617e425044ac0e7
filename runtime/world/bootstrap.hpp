#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iris/device.hpp"

namespace iris {

/// What a rank brings to a collective call. All ranks must bring the same.
struct CollectiveCall {
  std::string call;          ///< as the user would write it: "allocate(1024 bytes)"
  std::string state;         ///< of the rank, in words: "holds 3 allocations of 4096 bytes"
  std::uint64_t digest = 0;  ///< of that state, exactly
};

/// How the ranks of a World make collective calls. If a rank has left, those of the others fail.
class Bootstrap {
 public:
  struct Failure {
    int rank;
    std::exception_ptr error;
  };

  /// `observer` may be null; it is told whenever a rank begins or ceases to wait.
  Bootstrap(int ranks, RankObserver* observer);

  /// All ranks are present and running again.
  void begin();

  /// Returns when every rank has called it. Throws std::runtime_error on every rank if their calls differ, saying who
  /// made which, or if a rank is gone, saying which and why.
  void barrier(int rank, CollectiveCall call);

  /// As barrier(); returns on every rank what rank 0 gave. The others' content is not looked at.
  std::string broadcast(int rank, CollectiveCall call, std::string content);

  /// As barrier(); returns on every rank the object that rank 0 brought.
  std::shared_ptr<void> share(int rank, CollectiveCall call, std::shared_ptr<void> object);

  /// The rank will come no more: its body has returned, or failed if `error` is set.
  void leave(int rank, std::exception_ptr error = nullptr);

  /// The failure that came first; if others failed with the same words, that of the lowest rank. Since begin().
  std::optional<Failure> failure() const;

 private:
  /// One collective call: kept by each rank that waits in it until it has read the verdict.
  struct Round {
    std::vector<std::optional<CollectiveCall>> calls;  // of the ranks that have arrived
    std::string content;                               // rank 0's
    std::shared_ptr<void> object;                      // rank 0's
    bool over = false;
    std::string verdict;  // empty if all went well
  };

  std::shared_ptr<Round> meet(int rank, CollectiveCall call, std::string content = {},
                              std::shared_ptr<void> object = nullptr);
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

/// "rank 3", "ranks 0, 2-7".
std::string name_ranks(const std::vector<int>& ranks);

/// The words of an exception.
std::string words_of(const std::exception_ptr& error);

}  // namespace iris
