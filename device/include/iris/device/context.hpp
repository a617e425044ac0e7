#pragma once

#include <iris/device/abi.hpp>
#include <iris/device/platform.hpp>

namespace iris::device {

/// The object at `mine` on this rank's symmetric heap, as it lies on `peer`'s. An address, nothing is read.
template <typename T>
__device__ __forceinline__ T* on_rank(const Context& context, T* mine, i32 peer) {
  const i64 offset = reinterpret_cast<const char*>(mine) - context.heap[context.rank];
  return reinterpret_cast<T*>(context.heap[peer] + offset);
}

/// The rank that is `hops` after this one, in a circle of `world`. Loops over peers start at their own rank, so that
/// not all ranks turn to the same peer at once.
template <i32 world>
__device__ __forceinline__ i32 rank_after(const Context& context, i32 hops) {
  const i32 next = context.rank + hops;
  return next < world ? next : next - world;
}

/// This block's epoch, before this launch adds to it.
__device__ __forceinline__ Epoch begin_launch(const Context& context) {
  return context.epochs[block_index()];
}

/// The last act of a launch that went well: every block of every rank adds the same `steps`.
__device__ __forceinline__ void end_launch(const Context& context, const Epoch& epoch, u32 steps) {
  sync_block();  // every thread has read the epoch
  if (thread_index() == 0) context.epochs[block_index()] = {epoch.launch + 1, epoch.step + steps};
}

/// The half of the workspace that belongs to this launch; the next launch uses the other one.
template <typename T>
__device__ __forceinline__ T* workspace_half(const Context& context, const Epoch& epoch) {
  const u64 half = context.workspace_bytes / 2;
  return reinterpret_cast<T*>(context.workspace + (epoch.launch & 1) * half);
}

}  // namespace iris::device
