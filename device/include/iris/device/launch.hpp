#pragma once

#include <iris/device/context.hpp>

namespace iris::device {

/// One launch of a kernel, as one of its blocks sees it: the first thing that a kernel makes, whole blocks together,
/// and the last that goes. It counts the launch when it goes, and every flag shows launch and step, so no kernel can
/// leave the flags of one launch to be taken for those of the next, however it ends. That is a barrier: where threads
/// of a block part, they leave a loop by `break`, since those of a warp must come to a barrier at one place.
///
/// Launches follow one another. One that begins before the last has ended, as two graphs in two streams may make it, is
/// told to the host: it may take that one's flags for its own. Of two that begin within the same microsecond the next
/// launch tells, since they count as one that has been completed. Nobody waits for what is counted up.
///
/// Config names `world`, `blocks` and `threads`.
template <typename Config>
class Launch {
 public:
  __device__ __forceinline__ explicit Launch(const Context& of_context)
      : context(of_context), number_(count().completed) {
    if (thread_index() != 0) return;
    const u32 begun = platform::atomic_load<Order::relaxed, Scope::gpu>(&count().begun);
    platform::fetch_add<Order::relaxed, Scope::gpu>(&count().begun, 1U);
    if (begun != static_cast<u32>(number_)) {
      platform::atomic_store<Order::relaxed, Scope::sys>(&context.fault->overlapped, 1U);
    }
  }
  __device__ __forceinline__ ~Launch() {
    sync_block();  // every thread has read the number
    if (thread_index() == 0) count().completed = number_ + 1;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  /// What a flag shows once its writer has come to step number `step` of this launch, from 0 to 2^24 - 1. A flag's
  /// steps ascend within a launch.
  __device__ __forceinline__ u64 flag_value(u32 step) const { return (number_ + 1) << flag_step_bits | step; }

  /// What marks words that this launch sends: never 0, and for 2^32 launches that of no other which uses the same
  /// ping-pong buffer.
  __device__ __forceinline__ u32 mark() const {
    const u32 mark = static_cast<u32>(number_ + 1);
    return mark == 0 ? 1 : mark;
  }

  /// The number of this block's next barrier.
  __device__ __forceinline__ u32 count_barrier() { return barriers_++; }

  /// Which of the workspace's two ping-pong buffers is this launch's; the launches before and after it use the other.
  __device__ __forceinline__ i32 buffer() const { return static_cast<i32>(number_ & 1); }

  /// This launch's ping-pong buffer of the workspace, symmetric.
  template <typename T>
  __device__ __forceinline__ T* workspace() const {
    return reinterpret_cast<T*>(context.workspace + buffer() * (context.workspace_bytes / 2));
  }

  const Context& context;

 private:
  __device__ __forceinline__ LaunchCount& count() const { return context.launches[block_index()]; }

  u64 number_;  // launches completed before this one
  u32 barriers_ = 0;
};

/// This launch's ping-pong buffer of a user's kernel, which asks for it once: `count` elements, symmetric. irisgen
/// reserves as many as the source says: sums of products of numbers and extents, perhaps by round_up().
template <typename T, typename Config>
__device__ __forceinline__ T* workspace(const Launch<Config>& launch, i64 /*count*/) {
  return launch.template workspace<T>();
}

}  // namespace iris::device
