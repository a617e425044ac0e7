#pragma once

#include <iris/device/signal.hpp>

namespace iris::device {

/// The number of the flag that block `block` of rank `source` writes in its barriers.
template <typename Config>
__device__ constexpr i64 barrier_flag(i64 block, i32 source) {
  return block * Config::world + source;
}

/// Meets the blocks of the same index on all other ranks, and no other block: each releases the stores that it made so
/// far and acquires those of the others. Blocks of one index pass the same barriers of a launch in the same order.
/// False on every thread, with the fault recorded, if a peer did not come in time: the kernel returns.
template <typename Config>
__device__ __forceinline__ bool same_block_barrier(Launch<Config>& launch, Wait what) {
  const u32 step = launch.count_barrier();
  block_signal_release_all(launch, barrier_flag<Config>(block_index(), launch.context.rank), step);
  bool arrived = true;
#pragma unroll 1
  for (i32 offset = 1 + thread_index(); offset < Config::world; offset = next_own_peer<Config>(offset)) {
    const i32 peer = peer_at<Config::world>(launch.context, offset);
    arrived = wait_acquire(launch, barrier_flag<Config>(block_index(), peer), step, peer, what) && arrived;
  }
  return sync_block_and(arrived);
}

}  // namespace iris::device
