#pragma once

#include <iris/device/abi.hpp>
#include <iris/device/platform.hpp>

namespace iris::device {

/// The object at `mine`, in that window of this rank's, as it lies on `peer`. An address, nothing is read.
template <typename T>
__device__ __forceinline__ T* on_rank_in(const Context& context, i32 window, T* mine, i32 peer) {
  const i64 offset = reinterpret_cast<const char*>(mine) - context.bases[window][context.rank];
  return reinterpret_cast<T*>(context.bases[window][peer] + offset);
}

/// The same of what is known to lie on the heap, as flags and the workspace do.
template <typename T>
__device__ __forceinline__ T* heap_on_rank(const Context& context, T* mine, i32 peer) {
  return on_rank_in(context, 0, mine, peer);
}

/// The window of the launch that the symmetric object at `mine` lies in; 0, the heap, where it has no other.
template <typename T>
__device__ __forceinline__ i32 window_of(const Context& context, T* mine) {
  i32 found = 0;
#pragma unroll 1
  for (i32 window = 1; window <= context.windows; ++window) {
    const i64 offset = reinterpret_cast<const char*>(mine) - context.bases[window][context.rank];
    if (static_cast<u64>(offset) < context.bytes[window]) found = window;
  }
  return found;
}

/// The symmetric object at `mine`, on the heap or in adopted memory, as it lies on `peer`.
template <typename T>
__device__ __forceinline__ T* on_rank(const Context& context, T* mine, i32 peer) {
  return on_rank_in(context, window_of(context, mine), mine, peer);
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

/// Of the object at `mine`, in that window.
template <i32 world, typename T>
__device__ __forceinline__ OnPeers<T, world> on_peers_in(const Context& context, i32 window, T* mine) {
  OnPeers<T, world> peers;
#pragma unroll
  for (i32 offset = 0; offset < world; ++offset) {
    peers.objects[offset] = on_rank_in(context, window, mine, peer_at<world>(context, offset));
  }
  return peers;
}

/// Of the symmetric object at `mine`. Addresses for a loop, which need not be found anew in each iteration.
template <i32 world, typename T>
__device__ __forceinline__ OnPeers<T, world> on_peers(const Context& context, T* mine) {
  return on_peers_in<world>(context, window_of(context, mine), mine);
}

/// The same of what lies on the heap, as heap_on_rank().
template <i32 world, typename T>
__device__ __forceinline__ OnPeers<T, world> heap_on_peers(const Context& context, T* mine) {
  return on_peers_in<world>(context, 0, mine);
}

}  // namespace iris::device
