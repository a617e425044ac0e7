#pragma once

#include <iris/device/atomics.hpp>
#include <iris/device/launch.hpp>

/// Signals and bounded waits among ranks. A flag is a symmetric 64-bit count that only goes up; one (rank, block), or
/// one rank's copy engine, writes it and its owner waits for it.
namespace iris::device {

/// The number of the kernel's own flag `index`: those before it belong to the barriers.
template <typename Config>
__device__ constexpr i64 own_flag(i64 index) {
  return i64{Config::blocks} * Config::world + index;
}

/// `count` flags of a user's kernel, which asks for them once: the number of the first. irisgen reserves as many as the
/// source says.
template <i32 count, typename Config>
__device__ constexpr i64 flags(const Launch<Config>&) {
  static_assert(count >= 0);
  return own_flag<Config>(0);
}

/// Release store to flag number `flag` of rank `peer`, by the calling thread alone: it has come to `step`. Publishes
/// this thread's stores, and those of the whole block if sync_block_after_stores() came before.
template <typename Config>
__device__ __forceinline__ void signal_release(const Launch<Config>& launch, i64 flag, u32 step, i32 peer) {
  platform::store_flag(heap_on_rank(launch.context, launch.context.flags + flag, peer), launch.flag_value(step));
}

/// Records who waited for whom, unless another wait of this launch has done so. The host reads it after the launch.
__device__ inline void raise_fault(const Context& context, i32 peer, Wait what, u64 expected, u64 seen) {
  Fault& fault = *context.fault;
  // Another launch may be why: of two that began within the same microsecond neither has seen the other.
  const LaunchCount& count = context.launches[block_index()];
  const u32 begun = atomic_load<Order::relaxed, Scope::gpu>(&count.begun);
  if (begun - static_cast<u32>(count.completed) > 1) atomic_store(&fault.overlapped, 1U);
  if (atomic_xchg(&fault.raised, 1u) != 0) return;
  fault.rank = context.rank;
  fault.block = block_index();
  fault.peer = peer;
  fault.wait = what;
  fault.expected = expected;
  fault.seen = seen;
  atomic_store<Order::release>(&fault.complete, 1u);
}

/// Waits, the calling thread alone, until `*flag`, of any rank, has reached `at_least`; acquires what its writer
/// published. False, with the fault recorded as a wait for `peer`, if that took longer than Context::timeout_ns.
__device__ __forceinline__ bool wait_acquire(const Context& context, const u64* flag, u64 at_least, i32 peer,
                                             Wait what) {
  const u64 seen = platform::wait_flag(flag, at_least, peer, what, context.timeout_ns);
  if (reached(seen, at_least)) return true;
  raise_fault(context, peer, what, at_least, seen);
  return false;
}

/// The same until `peer`, the writer of this rank's flag number `flag`, has come to `step`.
template <typename Config>
__device__ __forceinline__ bool wait_acquire(const Launch<Config>& launch, i64 flag, u32 step, i32 peer, Wait what) {
  return wait_acquire(launch.context, launch.context.flags + flag, launch.flag_value(step), peer, what);
}

/// Whether it has, by now; if so, acquires what was published.
template <typename Config>
__device__ __forceinline__ bool has_come(const Launch<Config>& launch, i64 flag, u32 step) {
  return reached(atomic_load<Order::acquire>(launch.context.flags + flag), launch.flag_value(step));
}

/// A wait by the whole block: thread 0 waits, all threads return its outcome and see what was published.
template <typename Config>
__device__ __forceinline__ bool block_wait_acquire(const Launch<Config>& launch, i64 flag, u32 step, i32 peer,
                                                   Wait what) {
  return sync_block_and(thread_index() != 0 || wait_acquire(launch, flag, step, peer, what));
}

/// A signal by the whole block: publishes the stores that its threads made so far to flag number `flag` of `peer`.
template <typename Config>
__device__ __forceinline__ void block_signal_release(const Launch<Config>& launch, i64 flag, u32 step, i32 peer) {
  sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, flag, step, peer);
}

/// The peers of a block's threads, where each thread begins at the offset 1 + thread_index(): who comes after `offset`,
/// or `world` for none. A constant, unless the block has fewer threads than there are peers: compilers take long over
/// loops that run once.
template <typename Config>
__device__ constexpr i32 next_own_peer(i32 offset) {
  return Config::threads >= Config::world - 1 ? Config::world : offset + Config::threads;
}

/// A block_signal_release to every other rank.
template <typename Config>
__device__ __forceinline__ void block_signal_release_all(const Launch<Config>& launch, i64 flag, u32 step) {
  sync_block_after_stores();
#pragma unroll 1
  for (i32 offset = 1 + thread_index(); offset < Config::world; offset = next_own_peer<Config>(offset)) {
    signal_release(launch, flag, step, peer_at<Config::world>(launch.context, offset));
  }
}

}  // namespace iris::device
