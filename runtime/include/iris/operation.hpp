#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "iris/code_object.hpp"
#include "iris/device.hpp"
#include "iris/manifest.hpp"
#include "iris/tensor_view.hpp"

namespace iris {

class Group;

/// A manifest and the code of its kernels: what JIT makes and what an application embeds.
struct BuiltOperation {
  Manifest manifest = {};
  std::vector<CodeObject> code = {};  ///< in the order of manifest.kernels
};

/// An operation ready to be launched on one rank: its kernels loaded, their flags, workspace and the buffers between
/// them on the heap, residency checked. It keeps what it needs of its World, which may end before it.
class Operation {
 public:
  /// Collective: every rank of the group calls it with the same operation, in the same order; a Context is the group of
  /// all ranks. `capacity` bounds the dynamic extents. Throws if the group's size or target differs from the
  /// manifest's, or if the blocks of a kernel whose blocks wait for one another do not fit on the device together with
  /// as many of every other rank there: each rank can have one such kernel under way at a time, of whichever group.
  Operation(Group& group, const BuiltOperation& built, const Extents& capacity = {});
  ~Operation();
  Operation(Operation&&) noexcept;
  Operation& operator=(Operation&&) noexcept;

  /// Enqueues one launch. `buffers` are the manifest's arguments in order; `extents` gives the dynamic ones, and
  /// `scalars` the numbers that a kernel takes by value, which may differ from rank to rank. Graphs keep them. Checks
  /// alignment, aliasing, symmetry (buffers that other ranks reach lie on the heap, or in adopted memory, of which
  /// there may be device::max_windows ranges in a launch) and extents; throws a sentence naming the argument. What
  /// follows in the stream sees the launch done. A wait that ran out of time is thrown by Group::synchronize, until
  /// which the stream lives.
  ///
  /// Launches are in order whatever their streams: one in another stream waits for the last, and is refused where it
  /// cannot because one of the two is captured. Nothing knows when a captured launch runs: whoever launches graphs sees
  /// to it that no two launches of an operation overlap, which would take each other's signals, and that the operation
  /// outlives the graphs.
  ///
  /// Where ranks share a GPU, a launch that copies waits for its kernels before the copies, so for the other ranks: all
  /// launch in the same order, and no graph captures it.
  void launch(std::span<void* const> buffers, const Extents& extents = {}, Stream stream = nullptr,
              const Scalars& scalars = {});
  /// The same, as in `operation.launch({input, output})`.
  void launch(std::initializer_list<void*> buffers, const Extents& extents = {}, Stream stream = nullptr,
              const Scalars& scalars = {}) {
    launch(std::span(buffers.begin(), buffers.size()), extents, stream, scalars);
  }

  /// The same on tensors, each of the argument's dtype, shape and row-major strides: dynamic extents are what the
  /// shapes say, and need be given only where they stand in none. Throws a sentence that names the argument, what it
  /// takes and what it was given. Where the description has an n alone, an argument that the manifest has as (8, n) may
  /// be of one dimension, 8·n.
  void launch(std::span<const TensorView> tensors, const Extents& extents = {}, Stream stream = nullptr,
              const Scalars& scalars = {});
  /// The same, as in `operation.launch({input, output})`. A template, so that `launch({})` is of no buffers.
  template <std::same_as<TensorView> View = TensorView>
  void launch(std::initializer_list<std::type_identity_t<View>> tensors, const Extents& extents = {},
              Stream stream = nullptr, const Scalars& scalars = {}) {
    launch(std::span(tensors.begin(), tensors.size()), extents, stream, scalars);
  }

  const Manifest& manifest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iris
