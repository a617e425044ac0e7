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
  /// The heap grows where no block that is free on all of them is mapped; bases and what is allocated stay where they
  /// are. Throws on every member alike when it has come to WorldOptions::heap_limit, or a member has no memory left,
  /// saying which. Growing may wait for the device's kernels, and has no place in a capture.
  void* allocate(std::size_t bytes);
  /// Local, of what allocate() of this group, or of one of the same ranks, returned. Members free the same in the same
  /// order; the memory is reused after the group's next allocate() or barrier() by which all have done so.
  void free(void* memory);
  /// Makes memory symmetric that somebody else allocated, [memory, memory + bytes) of each member: operations of this
  /// group, and of others with some of its ranks, take buffers that lie in it, at the same offset on every member, as
  /// they take those on the heap, and is_symmetric() and on_rank() know it. Content and owner stay as they were. It
  /// must outlive its adoption, which ends with release_symmetric(), or with the World.
  ///
  /// Collective over the group: every member gives memory of its own, of the same size. Throws in words, on every
  /// member alike, where one gives none, or what overlaps the heap, something adopted already or, among threads, what
  /// another gave, or what others cannot address:
  /// - on a GPU it is what the GPU's library allocated (cudaMalloc or hipMalloc, virtual memory management), and so
  ///   what caching allocators give out; where ranks are processes, virtual memory must have been created so that it
  ///   can be exported as a file. No pool's (cudaMallocAsync).
  /// - on the CPU it is anything among threads; where ranks are processes it is whole pages, as of
  ///   std::aligned_alloc(4096, …), which nobody else uses while they are adopted or released.
  void as_symmetric(void* memory, std::size_t bytes);
  /// Ends this group's adoption of what begins at `memory`. Collective: waits for this rank's work, then for every
  /// member. If a launch has failed on one of them, every member throws and all stays adopted. Whoever launches graphs
  /// on it waits for them before, and launches them no more.
  void release_symmetric(void* memory);
  /// Whether [memory, memory + bytes) lies on this rank's heap, or in memory that it has adopted as one range. False
  /// for an empty range outside.
  bool is_symmetric(const void* memory, std::size_t bytes) const;
  /// The same object of another member, as addressable from here. `rank` is within the group. Throws if `memory` is
  /// not symmetric, or was adopted by ranks of which that is none.
  void* on_rank(void* memory, int rank) const;
  /// Of the members, in the group's order.
  std::span<char* const> heap_bases() const;

  /// Waits for this rank's work in the stream; throws the sentence of a wait that ran out of time, or of a deadlock.
  void synchronize(Stream stream = nullptr);
  /// synchronize(stream), then waits for every member to arrive. Where one of them throws by synchronize(), so do all:
  /// it its own failure, the others that rank and what it said.
  void barrier(Stream stream = nullptr);

  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const { return *state_; }
  const std::shared_ptr<State>& shared_state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace iris
