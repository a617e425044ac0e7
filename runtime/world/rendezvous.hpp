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
struct Ticket {
  std::string call;          ///< as the user would write it: "allocate(1024 bytes)"
  std::string state;         ///< of the rank, in words: "holds 3 allocations of 4096 bytes"
  std::uint64_t digest = 0;  ///< of that state, exactly
};

/// Where the ranks of a World meet. Nobody waits for a rank that will not come.
class Rendezvous {
 public:
  struct Failure {
    int rank;
    std::exception_ptr error;
  };

  /// `observer` may be null; it is told whenever a rank begins or ceases to wait.
  Rendezvous(int ranks, RankObserver* observer);

  /// All ranks are present and running again.
  void begin();

  /// Returns when every rank has called it. Throws std::runtime_error on every rank if their tickets differ, saying who
  /// brought what, or if a rank is gone, saying which and why.
  void meet(int rank, Ticket ticket);

  /// The rank will come no more: its body has returned, or failed if `error` is set.
  void leave(int rank, std::exception_ptr error = nullptr);

  /// The failure that came first; if others failed with the same words, that of the lowest rank. Since begin().
  std::optional<Failure> failure() const;

 private:
  /// One collective call: kept by each rank that waits in it until it has read the verdict.
  struct Meeting {
    std::vector<std::optional<Ticket>> tickets;  // of the ranks that have arrived
    bool over = false;
    std::string verdict;  // empty if all went well
  };

  std::shared_ptr<Meeting> new_meeting() const;
  void conclude(std::string verdict, int caller);
  std::string describe_absence(int rank) const;

  const int ranks_;
  RankObserver* observer_;
  mutable std::mutex mutex_;
  std::condition_variable concluded_;
  std::shared_ptr<Meeting> meeting_;  // the next to be concluded
  std::vector<int> gone_;             // ranks, in the order in which they left
  std::vector<Failure> failures_;     // in the order of time
};

/// "rank 3", "ranks 0, 2-7".
std::string name_ranks(const std::vector<int>& ranks);

/// The words of an exception.
std::string words_of(const std::exception_ptr& error);

}  // namespace iris
