#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// What a rank brings to a collective call. All that take part must bring the same.
struct CollectiveCall {
  std::string call;          ///< as the user would write it: "allocate(1024 bytes)"
  std::string state;         ///< of the rank, in words: "holds 3 allocations of 4096 bytes"
  std::uint64_t digest = 0;  ///< of that state, exactly
};

/// How one rank of a group makes collective calls, whether the others are threads or processes. Each returns when every
/// member has made it. Throws std::runtime_error on every member if their calls differ, saying who made which, if one
/// is gone, saying which and why, or if members wait for one another in calls of different groups.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// In the group.
  virtual int rank() const = 0;
  /// Of the world, in the group's order.
  virtual const std::vector<int>& ranks() const = 0;

  /// What each member gave, in the order of the group.
  virtual std::vector<std::string> all_gather(CollectiveCall call, std::string content) = 0;
  /// Memory of the host that is the same for all members: zeros, aligned to a cache line.
  virtual std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) = 0;
  /// Whether the ranks are threads of one process, to which an address means the same.
  virtual bool share_addresses() const { return true; }

  /// What a rank brings to hand_over().
  struct Files {
    std::string error = {};  ///< why it has none, in words; empty if there is nothing wrong
    std::vector<Descriptor> own = {};
  };
  using TakeFiles = std::function<void(int rank, std::vector<Descriptor> files)>;
  /// Among processes alone: every rank's open files, if it has any, go to the `take` of all others, as open there.
  /// Where one has met an error, or has files that it cannot give, or cannot take what it is given, every rank throws
  /// alike.
  virtual void hand_over(const CollectiveCall& call, const Files& files, const TakeFiles& take);

  /// all_gather() after a step that may have failed on some ranks: each gives its error, in words, or none. If there
  /// is one, every rank throws alike, and says whose it is; so ranks stay in step where they fail by themselves.
  std::vector<std::string> all_gather_or_fail(const CollectiveCall& call, const std::string& error,
                                              std::string content = {});
  void barrier(CollectiveCall call);
  /// Returns on every rank what rank 0 gave. The others' content is not looked at.
  std::string broadcast(CollectiveCall call, std::string content);
};

/// Those of all ranks, which make those of groups and outlive them.
class WorldCollectives : public Collectives {
 public:
  /// Of a group with these ranks of the world, of which this is one. Collective over them alone: they give the same
  /// ranks in the same order, or every one throws. What becomes of earlier calls does not matter to later ones.
  virtual std::unique_ptr<Collectives> among(const std::vector<int>& ranks) = 0;
};

/// How the calls of these ranks differ, and who made which; empty if they agree.
std::string describe_difference(std::span<const CollectiveCall> calls, const std::vector<int>& ranks);

/// Of the ranks that wait in a call, by the ranks that have yet to make it, those that wait for one another: whatever
/// the others do, they do so for ever.
std::vector<int> find_deadlock(const std::map<int, std::vector<int>>& awaited);

/// Thrown of a call whose rank is among those.
class DeadlockError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Why the calls of these ranks, which wait for one another, cannot be done.
std::string describe_deadlock(std::span<const std::string> calls, const std::vector<int>& ranks);

/// "rank 3", "ranks 0, 2-7".
std::string name_ranks(const std::vector<int>& ranks);

/// What was given in ascending order of these ranks, in the order in which they stand here.
std::vector<std::string> in_order_of(const std::vector<int>& ranks, std::vector<std::string> ascending);

/// "group {4, 6}".
std::string name_group(const std::vector<int>& ranks);

/// The words of an exception.
std::string words_of(const std::exception_ptr& error);

/// What `attempt` throws, in words; empty if it does not.
template <typename Attempt>
std::string words_of_attempt(const Attempt& attempt) {
  try {
    attempt();
  } catch (...) {
    return words_of(std::current_exception());
  }
  return {};
}

}  // namespace iris
