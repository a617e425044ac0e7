#pragma once

#include <iris/device/atomics.hpp>

/// Signals and bounded waits among ranks. A flag is a symmetric u32 that only counts up; one (rank, block) writes it
/// and its owner waits for it.
namespace iris::device {

/// Release store of `value` to flag number `flag` of rank `peer`, by the calling thread alone. Publishes this thread's
/// stores, and those of the whole block if sync_block_after_stores() came before.
__device__ __forceinline__ void signal(const Context& context, i64 flag, u32 value, i32 peer) {
  platform::store_flag(on_rank(context, context.flags + flag, peer), value);
}

/// Records who waited for whom, unless another wait of this launch has done so. The host reads it after the launch.
__device__ inline void raise_fault(const Context& context, i32 peer, Wait what, u32 expected, u32 seen) {
  Fault& fault = *context.fault;
  if (atomic_xchg(&fault.raised, 1u) != 0) return;
  fault.rank = context.rank;
  fault.block = block_index();
  fault.peer = peer;
  fault.wait = what;
  fault.expected = expected;
  fault.seen = seen;
  atomic_store<Order::release>(&fault.complete, 1u);
}

/// Waits, the calling thread alone, until this rank's flag number `flag` has reached `at_least`; acquires what its
/// writer `peer` published. False, with the fault recorded, if that took longer than Context::timeout_ns.
__device__ __forceinline__ bool wait(const Context& context, i64 flag, u32 at_least, i32 peer, Wait what) {
  const u32 seen = platform::wait_flag(context.flags + flag, at_least, peer, what, context.timeout_ns);
  if (reached(seen, at_least)) return true;
  raise_fault(context, peer, what, at_least, seen);
  return false;
}

/// A wait by the whole block: thread 0 waits, all threads return its outcome and see what was published.
__device__ __forceinline__ bool block_wait(const Context& context, i64 flag, u32 at_least, i32 peer, Wait what) {
  return sync_block_and(thread_index() != 0 || wait(context, flag, at_least, peer, what));
}

/// A signal by the whole block: publishes the stores that its threads made so far to flag number `flag` of `peer`.
__device__ __forceinline__ void block_signal(const Context& context, i64 flag, u32 value, i32 peer) {
  sync_block_after_stores();
  if (thread_index() == 0) signal(context, flag, value, peer);
}

/// A block_signal to every other rank.
template <typename Config>
__device__ __forceinline__ void block_signal_all(const Context& context, i64 flag, u32 value) {
  sync_block_after_stores();
  for (i32 hop = 1 + thread_index(); hop < Config::world; hop += Config::threads) {
    signal(context, flag, value, rank_after<Config::world>(context, hop));
  }
}

/// The number of the flag that block `block` of rank `source` writes, in kernels with one flag for each such pair.
template <typename Config>
__device__ __forceinline__ i64 flag_of(i64 block, i32 source) {
  return block * Config::world + source;
}

/// Meets the blocks of the same index on all other ranks: each publishes the stores made so far and acquires those of
/// the others. Uses the flags flag_of(block_index(), rank); `value` grows from barrier to barrier by the same amount on
/// every rank. False on every thread if a peer did not come in time.
template <typename Config>
__device__ __forceinline__ bool barrier(const Context& context, u32 value, Wait what) {
  block_signal_all<Config>(context, flag_of<Config>(block_index(), context.rank), value);
  bool arrived = true;
  for (i32 hop = 1 + thread_index(); hop < Config::world; hop += Config::threads) {
    const i32 peer = rank_after<Config::world>(context, hop);
    arrived = wait(context, flag_of<Config>(block_index(), peer), value, peer, what) && arrived;
  }
  return sync_block_and(arrived);
}

}  // namespace iris::device
