#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "iris/group.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/context.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

/// A group as one of its ranks sees it.
struct Group::State {
  /// `number`: what the rank's heap calls groups of these ranks; 0 is that of all ranks.
  State(Context::State& of_rank, int number, std::vector<int> of_ranks, std::unique_ptr<Collectives> with_others);

  std::shared_ptr<void> world;  ///< all that this refers to; none of the group of all ranks, which is a part of that
  Context::State& context;      ///< of the rank
  std::vector<int> ranks;       ///< of the world, in the group's order
  int rank;                     ///< in the group
  std::vector<char*> bases;     ///< in the group's order
  std::unique_ptr<Collectives> collectives;
  std::string suffix;  ///< " in group {4, 6}", behind what is said of its calls and kernels; empty for all ranks

  std::uint32_t members() const { return members_; }  ///< a bit for each rank of the world
  /// What a collective call is called in messages.
  std::string call(const std::string& text) const { return text + suffix; }
  /// Collective allocation under the name of the call that asks for it.
  void* allocate(std::size_t bytes, const std::string& call, Owner::Kind kind);
  /// Throws for what is not such an allocation of this group.
  void free(void* memory, Owner::Kind kind);
  /// After a step that may fail on some members: there it throws what it has met with, and on the others whose it is.
  void barrier(const std::string& call, const std::function<void()>& before);
  /// What each member does by itself, under the name of a collective call: where it fails on one, every member throws
  /// alike, so that they stay in step.
  void fail_alike(const std::string& call, const std::function<void()>& step);
  /// Whether it lies within one allocation of a user's that is at the same place on all members.
  bool is_allocated(const void* memory, std::size_t bytes) const;
  /// Collective, as Group's of these names.
  void adopt(void* memory, std::size_t bytes);
  void release_adopted(void* memory);
  /// Of symmetric memory; null if `peer` has not adopted it with this rank.
  char* on_rank(const char* memory, int peer) const;

 private:
  Owner owner(Owner::Kind kind) const { return {kind, number_, members_}; }
  std::string describe_holdings() const;
  std::string describe_full(const std::string& call, const std::vector<std::vector<FreeBlock>>& heaps) const;

  int number_;
  std::uint32_t members_ = 0;
};

}  // namespace iris
