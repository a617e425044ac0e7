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

/// One object as it is on all ranks, from this one on in the order of peer_at().
template <typename T, i32 world>
struct OnPeers {
  T* objects[world];

  __device__ __forceinline__ T* operator[](i32 offset) const { return objects[offset]; }
};

/// Of the object at `mine`. Addresses for a loop, which need not be found anew in each iteration.
template <i32 world, typename T>
__device__ __forceinline__ OnPeers<T, world> on_peers(const Context& context, T* mine) {
  OnPeers<T, world> peers;
#pragma unroll
  for (i32 offset = 0; offset < world; ++offset) {
    peers.objects[offset] = on_rank(context, mine, peer_at<world>(context, offset));
  }
  return peers;
}

}  // namespace iris::device
