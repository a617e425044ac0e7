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

/// The rank that is `offset` after this one in a circle of `world`, offset being from 0 to world - 1. Loops over peers
/// count offsets from their own rank, so that not all ranks turn to the same peer at once.
template <i32 world>
__device__ __forceinline__ i32 peer_at(const Context& context, i32 offset) {
  const i32 peer = context.rank + offset;
  return peer < world ? peer : peer - world;
}

}  // namespace iris::device
