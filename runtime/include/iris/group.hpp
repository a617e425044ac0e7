#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "iris/device.hpp"

namespace iris {

/// Ranks of a World that work together, as one of them sees it: a Context is the group of all ranks, Context::group()
/// makes others, which may overlap. An operation is launched on a group, and for its kernels there are no other ranks.
///
/// A handle: copies are of the same group. Used by the rank's own thread, in whichever World::run.
class Group {
 public:
  /// Within the group, from 0 on.
  int rank() const;
  int num_ranks() const;
  /// Of the world, in the group's order: ranks()[rank()] is this one.
  std::span<const int> ranks() const;
  Device& device();

  /// Bytes on the symmetric heap, 256-byte aligned, not cleared, at the same offset on every member. Collective: every
  /// member asks for the same size in the same order, or every one throws a sentence that tells who asked for what.
  /// Throws when no block is free on all of them.
  void* allocate(std::size_t bytes);
  /// Local, of what allocate() of this group returned. Members free the same in the same order; the memory is reused
  /// after the group's next allocate() or barrier() by which all have done so.
  void free(void* memory);
  /// Whether [memory, memory + bytes) lies on this rank's heap. False for an empty range outside it.
  bool is_symmetric(const void* memory, std::size_t bytes) const;
  /// The same object on the heap of another member, as addressable from here. `rank` is within the group. Throws if
  /// `memory` is not on the heap.
  void* on_rank(void* memory, int rank) const;
  /// Of the members, in the group's order.
  std::span<char* const> heap_bases() const;

  /// Waits for this rank's work in the stream; throws the sentence of a wait that ran out of time, or of a deadlock.
  void synchronize(Stream stream = nullptr);
  /// synchronize(stream), then waits for every member to arrive.
  void barrier(Stream stream = nullptr);

  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const { return *state_; }
  const std::shared_ptr<State>& shared_state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace iris
