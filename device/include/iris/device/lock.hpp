#pragma once

#include <iris/device/signal.hpp>

/// Locks on the symmetric heap, for what several ranks change in turn. A ticket lock (Mellor-Crummey and Scott, 1991):
/// whoever comes draws a ticket and waits until it is called, so nobody is passed over, and all counts only go up. Two
/// flags make one lock: the next ticket, and the one that is called, in steps of the launch.
namespace iris::device {

inline constexpr i32 flags_of_lock = 2;

/// Opens this rank's lock that begins at flag number `lock`, by the calling thread alone. Each launch opens its locks
/// before a barrier, behind which others take them, and no launch ends before they are free again.
template <typename Config>
__device__ __forceinline__ void open_lock(const Launch<Config>& launch, i64 lock) {
  atomic_store(launch.context.flags + lock, launch.flag_value(0));
  atomic_store(launch.context.flags + lock + 1, launch.flag_value(0));
}

/// A lock of rank `peer` for a block to take and to give back, its threads together.
template <typename Config>
class BlockLock {
 public:
  __device__ __forceinline__ BlockLock(const Launch<Config>& launch, i64 lock, i32 peer)
      : launch_(launch), next_(heap_on_rank(launch.context, launch.context.flags + lock, peer)), peer_(peer) {}

  /// Waits for this block's turn, and acquires what those before it published. False on every thread, with the fault
  /// recorded, if it did not come in time: the kernel returns.
  __device__ __forceinline__ bool acquire() {
    bool is_our_turn = true;
    if (thread_index() == 0) {
      ticket_ = atomic_add(next_, u64{1});
      is_our_turn = wait_acquire(launch_.context, called(), ticket_, peer_, Wait::lock);
    }
    return sync_block_and(is_our_turn);
  }

  /// Publishes the stores that the block's threads made so far, and calls the next ticket.
  __device__ __forceinline__ void release() {
    sync_block_after_stores();
    if (thread_index() == 0) platform::store_flag(called(), ticket_ + 1);
  }

 private:
  __device__ __forceinline__ u64* called() const { return next_ + 1; }

  const Launch<Config>& launch_;
  u64* next_;
  i32 peer_;
  u64 ticket_ = 0;  // of thread 0
};

}  // namespace iris::device
