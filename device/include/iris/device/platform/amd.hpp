#pragma once

#include <iris/device/abi.hpp>
#include <iris/device/platform/order.hpp>
#include <iris/device/platform/poll.hpp>
#include <iris/device/types.hpp>

/// AMD Instinct: gfx90a, gfx942, gfx950.
namespace iris::device {

__device__ __forceinline__ i32 thread_index() {
  return static_cast<i32>(__builtin_amdgcn_workitem_id_x());
}
__device__ __forceinline__ i32 block_index() {
  return static_cast<i32>(__builtin_amdgcn_workgroup_id_x());
}

/// The block's one object of type T in shared memory. Not cleared.
template <typename T>
__device__ __forceinline__ T& shared() {
  static __shared__ T object;
  return object;
}

/// Threads that run together, whole ones of which make a block.
inline constexpr i32 wave_size = 64;

/// Waits for every thread of the block; orders their accesses within the block.
__device__ __forceinline__ void sync_block() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

namespace platform {

/// Waits until this wave's stores, and the cache write-backs it asked for, are done. The compiler drops its own wait
/// where it knows of no store of this wave, but a write-back may be for the stores of others.
__device__ __forceinline__ void wait_for_stores() {
  constexpr int vector_memory_only = 0x0f70;  // vmcnt(0); the other counters at their maximum: no wait
  __builtin_amdgcn_s_waitcnt(vector_memory_only);
}

}  // namespace platform

/// sync_block(), and every store that a thread of the block made before it has reached the cache that the block shares,
/// so that a release by one thread afterwards publishes them all. Each wave waits for its own stores: the release
/// itself waits only for those of the wave that executes it.
__device__ __forceinline__ void sync_block_after_stores() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  platform::wait_for_stores();
  sync_block();
}

namespace platform {

struct SharedVote {
  u32 all;
};

template <typename T>
using Global = __attribute__((address_space(1))) T;

/// The pointer as one into device memory, so that global rather than flat instructions are selected.
template <typename T>
__device__ __forceinline__ Global<T>* global(T* pointer) {
  return (Global<T>*)pointer;
}

}  // namespace platform

/// sync_block(); true if every thread passed true.
__device__ __forceinline__ bool sync_block_and(bool mine) {
  platform::SharedVote& vote = shared<platform::SharedVote>();
  if (thread_index() == 0) vote.all = 1;
  sync_block();
  if (!mine) vote.all = 0;
  sync_block();
  const bool all = vote.all != 0;
  sync_block();
  return all;
}

namespace platform {

template <int bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = unsigned char;
};
template <>
struct BitsOf<2> {
  using type = unsigned short;
};
template <>
struct BitsOf<4> {
  using type = u32;
};
template <>
struct BitsOf<8> {
  using type = u32 __attribute__((ext_vector_type(2)));
};
template <>
struct BitsOf<16> {
  using type = u32 __attribute__((ext_vector_type(4)));
};

/// 1, 2, 4, 8 or 16 bytes that travel in one access.
template <int bytes>
using Bits = typename BitsOf<bytes>::type;

template <int bytes>
__device__ __forceinline__ Bits<bytes> load_bits(const void* from) {
  return *global(static_cast<const Bits<bytes>*>(from));
}
template <int bytes>
__device__ __forceinline__ void store_bits(void* to, Bits<bytes> value) {
  *global(static_cast<Bits<bytes>*>(to)) = value;
}

__device__ __forceinline__ f32 f16_to_f32(unsigned short bits) {
  return static_cast<f32>(__builtin_bit_cast(_Float16, bits));
}
/// Rounds to nearest even.
__device__ __forceinline__ unsigned short f32_to_f16(f32 value) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(value));
}
/// Rounds to nearest even; NaN stays NaN.
__device__ __forceinline__ unsigned short f32_to_bf16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 rounded = bits + 0x7fff + (bits >> 16 & 1);
  const u32 quiet = bits | 0x400000;
  return static_cast<unsigned short>((value != value ? quiet : rounded) >> 16);
}

__device__ __forceinline__ f32 fma(f32 a, f32 b, f32 c) {
  return __builtin_fmaf(a, b, c);
}
__device__ __forceinline__ f64 fma(f64 a, f64 b, f64 c) {
  return __builtin_fma(a, b, c);
}
/// The release half of an order: what this thread did or observed before is visible in the scope afterwards.
template <Order order, Scope scope>
__device__ __forceinline__ void release() {
  if constexpr (order == Order::release || order == Order::acq_rel) {
    if constexpr (scope == Scope::block) {
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    } else if constexpr (scope == Scope::gpu) {
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    } else {
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    }
    wait_for_stores();
  }
}

/// What is left of an order after release().
template <Order order>
inline constexpr int builtin_order =
    order == Order::acquire || order == Order::acq_rel ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
template <Scope scope>
inline constexpr int builtin_scope = scope == Scope::block ? __HIP_MEMORY_SCOPE_WORKGROUP
                                     : scope == Scope::gpu ? __HIP_MEMORY_SCOPE_AGENT
                                                           : __HIP_MEMORY_SCOPE_SYSTEM;

template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_load(const T* address) {
  return __hip_atomic_load(address, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ void atomic_store(T* address, T value) {
  release<order, scope>();
  __hip_atomic_store(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_exchange(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_exchange(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_compare_exchange(T* address, T expected, T desired) {
  release<order, scope>();
  __hip_atomic_compare_exchange_strong(address, &expected, desired, builtin_order<order>, builtin_order<order>,
                                       builtin_scope<scope>);
  return expected;
}

// The heap is fine-grained memory, where gfx90a's additions of floats do nothing. Clang supposes that no atomic is for
// such memory; where it is told, it makes a loop of compare-and-swap, as older compilers do unasked. On gfx942 and
// gfx950 it takes the instruction even so: there Infinity Fabric adds, for peers that are linked by it, too (ROCm
// documentation, "Hardware atomics operation support").
#if __has_cpp_attribute(clang::atomic)
#define IRIS_FINE_GRAINED [[clang::atomic(fine_grained_memory)]]
#else
#define IRIS_FINE_GRAINED
#endif
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_add(T* address, T value) {
  release<order, scope>();
  IRIS_FINE_GRAINED {
    return __hip_atomic_fetch_add(address, value, builtin_order<order>, builtin_scope<scope>);
  }
}
#undef IRIS_FINE_GRAINED

template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_and(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_fetch_and(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_or(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_fetch_or(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_xor(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_fetch_xor(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_min(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_fetch_min(address, value, builtin_order<order>, builtin_scope<scope>);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_max(T* address, T value) {
  release<order, scope>();
  return __hip_atomic_fetch_max(address, value, builtin_order<order>, builtin_scope<scope>);
}

/// The value, held by each lane for itself, if it is no constant: what is computed of it takes none of the scalar
/// registers, which a kernel that multiplies has few of.
__device__ __forceinline__ i64 held_by_lanes(i64 value) {
  if (!__builtin_constant_p(value)) asm volatile("" : "+v"(value));
  return value;
}

/// Release store to a flag that another GPU reads.
__device__ __forceinline__ void store_flag(u64* flag, u64 value) {
  release<Order::release, Scope::sys>();
  __hip_atomic_store(global(flag), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

/// An acquire load would invalidate the caches at each poll; relaxed loads and one fence after the last do it once.
struct Poll {
  __device__ static u64 load(const u64* flag) {
    return __hip_atomic_load(global(flag), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  __device__ static Words load_words(const u64* from) {
    return {{__hip_atomic_load(global(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM),
             __hip_atomic_load(global(from) + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)}};
  }
  __device__ static void acquire() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }
  __device__ static u64 nanoseconds() { return __builtin_amdgcn_s_memrealtime() * 10; }  // it ticks at 100 MHz
  __device__ static void pause() { __builtin_amdgcn_s_sleep(1); }
};

__device__ __forceinline__ u64 wait_flag(const u64* flag, u64 at_least, i32 /*peer*/, Wait /*what*/, u64 timeout_ns) {
  return poll_until<Poll>(flag, at_least, timeout_ns);
}

template <int marks>
__device__ __forceinline__ void store_words(u64* to, const Words& words) {
  static_assert(marks == 2, "no more than 64 bits are written as a whole");
  __hip_atomic_store(global(to), words.values[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(global(to) + 1, words.values[1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

/// Waits for pairs of words, which come from `sources` ranks from `first_source` on, in a circle.
template <int marks, int sources, int world, int count>
__device__ __forceinline__ i32 wait_words(const u64* const (&places)[count], u32 mark, i32 /*first_source*/,
                                          u64 timeout_ns, Words (&seen)[count]) {
  return poll_words<Poll, marks>(places, mark, timeout_ns, seen);
}

}  // namespace platform
}  // namespace iris::device
