#pragma once

#include <iris/device/abi.hpp>
#include <iris/device/platform/order.hpp>
#include <iris/device/platform/poll.hpp>
#include <iris/device/types.hpp>

/// NVIDIA, compute capability 9.0 (NVRTC or nvcc, CUDA 13).
namespace iris::device {

__device__ __forceinline__ i32 thread_index() {
  return static_cast<i32>(threadIdx.x);
}
__device__ __forceinline__ i32 block_index() {
  return static_cast<i32>(blockIdx.x);
}

/// The block's one object of type T in shared memory. Not cleared.
template <typename T>
__device__ __forceinline__ T& shared() {
  __shared__ T object;
  return object;
}

/// Threads that run together, whole ones of which make a block: a warp.
inline constexpr i32 wave_size = 32;

/// Waits for every thread of the block; orders their accesses within the block.
__device__ __forceinline__ void sync_block() {
  __syncthreads();
}

/// sync_block(), after which a release store by one thread publishes the stores of all: release is cumulative over
/// the block's barrier in the PTX memory model.
__device__ __forceinline__ void sync_block_after_stores() {
  __syncthreads();
}

/// sync_block(); true if every thread passed true.
__device__ __forceinline__ bool sync_block_and(bool mine) {
  return __syncthreads_and(mine) != 0;
}

/// Until all that its stream has before the launch has ended and its stores can be read: of a launch that the GPU has
/// set up before that (compute capability 9.0's programmatic dependent launch), by each thread and before all else.
__device__ __forceinline__ void wait_for_stream() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the GPU set up the launch behind this one in its stream, if that waits for its stream itself, as soon as each
/// block has called it or ended.
__device__ __forceinline__ void let_next_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
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
  using type = uint2;
};
template <>
struct BitsOf<16> {
  using type = uint4;
};

/// As instructions that are written in assembly take it.
__device__ __forceinline__ u32 shared_address(const void* object) {
  return static_cast<u32>(__cvta_generic_to_shared(object));
}

/// 1, 2, 4, 8 or 16 bytes that travel in one access.
template <int bytes>
using Bits = typename BitsOf<bytes>::type;

template <int bytes>
__device__ __forceinline__ Bits<bytes> load_bits(const void* from) {
  __builtin_assume(__isGlobal(from));
  return *static_cast<const Bits<bytes>*>(from);
}
/// Vectors in one instruction: where several are stored in turn, the compiler takes them apart and does not always put
/// them together again.
template <int bytes>
__device__ __forceinline__ void store_bits(void* to, Bits<bytes> value) {
  if constexpr (bytes == 16) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(value.x), "r"(value.y)
                 : "memory");
  } else {
    __builtin_assume(__isGlobal(to));
    *static_cast<Bits<bytes>*>(to) = value;
  }
}

__device__ __forceinline__ f32 f16_to_f32(unsigned short bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
/// Rounds to nearest even.
__device__ __forceinline__ unsigned short f32_to_f16(f32 value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
/// Rounds to nearest even; NaN stays NaN.
__device__ __forceinline__ unsigned short f32_to_bf16(f32 value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ __forceinline__ f32 fma(f32 a, f32 b, f32 c) {
  return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ f64 fma(f64 a, f64 b, f64 c) {
  return __fma_rn(a, b, c);
}
// The builtins take literals only. IRIS_ATOMIC(builtin, arguments…) returns builtin(arguments…, order, scope) for the
// template arguments `order` and `scope` of the function around it.
#define IRIS_AT_SCOPE(builtin, order, ...)                        \
  if constexpr (scope == Scope::block) {                          \
    return builtin(__VA_ARGS__, order, __NV_THREAD_SCOPE_BLOCK);  \
  } else if constexpr (scope == Scope::gpu) {                     \
    return builtin(__VA_ARGS__, order, __NV_THREAD_SCOPE_DEVICE); \
  } else {                                                        \
    return builtin(__VA_ARGS__, order, __NV_THREAD_SCOPE_SYSTEM); \
  }
#define IRIS_ATOMIC(builtin, ...)                            \
  if constexpr (order == Order::relaxed) {                   \
    IRIS_AT_SCOPE(builtin, __NV_ATOMIC_RELAXED, __VA_ARGS__) \
  } else if constexpr (order == Order::acquire) {            \
    IRIS_AT_SCOPE(builtin, __NV_ATOMIC_ACQUIRE, __VA_ARGS__) \
  } else if constexpr (order == Order::release) {            \
    IRIS_AT_SCOPE(builtin, __NV_ATOMIC_RELEASE, __VA_ARGS__) \
  } else {                                                   \
    IRIS_AT_SCOPE(builtin, __NV_ATOMIC_ACQ_REL, __VA_ARGS__) \
  }
#define IRIS_COMPARE_EXCHANGE(address, expected, desired, order, scope) \
  __nv_atomic_compare_exchange_n(address, expected, desired, false, order, __NV_ATOMIC_RELAXED, scope)

template <int bytes>
struct WordOf;
template <>
struct WordOf<4> {
  using type = u32;
};
template <>
struct WordOf<8> {
  using type = u64;
};
/// The integer in whose guise a value is loaded, stored and exchanged: the builtins do that for integers only.
template <typename T>
using Word = typename WordOf<sizeof(T)>::type;

template <Order order, Scope scope, typename W>
__device__ __forceinline__ W load_word(W* address) {
  IRIS_ATOMIC(__nv_atomic_load_n, address)
}
template <Order order, Scope scope, typename W>
__device__ __forceinline__ void store_word(W* address, W value) {
  IRIS_ATOMIC(__nv_atomic_store_n, address, value)
}
template <Order order, Scope scope, typename W>
__device__ __forceinline__ W exchange_word(W* address, W value) {
  IRIS_ATOMIC(__nv_atomic_exchange_n, address, value)
}
template <Order order, Scope scope, typename W>
__device__ __forceinline__ bool exchange_word_if_equal(W* address, W* expected, W desired) {
  IRIS_ATOMIC(IRIS_COMPARE_EXCHANGE, address, expected, desired)
}

template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_load(const T* address) {
  Word<T>* const word = reinterpret_cast<Word<T>*>(const_cast<T*>(address));
  return __builtin_bit_cast(T, load_word<order, scope>(word));
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ void atomic_store(T* address, T value) {
  store_word<order, scope>(reinterpret_cast<Word<T>*>(address), __builtin_bit_cast(Word<T>, value));
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_exchange(T* address, T value) {
  Word<T>* const word = reinterpret_cast<Word<T>*>(address);
  return __builtin_bit_cast(T, exchange_word<order, scope>(word, __builtin_bit_cast(Word<T>, value)));
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T atomic_compare_exchange(T* address, T expected, T desired) {
  Word<T> seen = __builtin_bit_cast(Word<T>, expected);
  exchange_word_if_equal<order, scope>(reinterpret_cast<Word<T>*>(address), &seen,
                                       __builtin_bit_cast(Word<T>, desired));
  return __builtin_bit_cast(T, seen);
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_add(T* address, T value) {
  IRIS_ATOMIC(__nv_atomic_fetch_add, address, value)
}
// What other GPUs see lies in global memory. The builtin does not know that, and adds to floats in shared memory by a
// loop, which it would bring along.
template <>
__device__ __forceinline__ f32 fetch_add<Order::relaxed, Scope::sys, f32>(f32* address, f32 value) {
  f32 before;
  asm volatile("atom.relaxed.sys.global.add.f32 %0, [%1], %2;"
               : "=f"(before)
               : "l"(__cvta_generic_to_global(address)), "f"(value)
               : "memory");
  return before;
}
template <>
__device__ __forceinline__ f64 fetch_add<Order::relaxed, Scope::sys, f64>(f64* address, f64 value) {
  f64 before;
  asm volatile("atom.relaxed.sys.global.add.f64 %0, [%1], %2;"
               : "=d"(before)
               : "l"(__cvta_generic_to_global(address)), "d"(value)
               : "memory");
  return before;
}
/// The builtin has no signed 64-bit addition; the unsigned one gives the same bits.
template <Order order, Scope scope>
__device__ __forceinline__ i64 fetch_add(i64* address, i64 value) {
  return static_cast<i64>(fetch_add<order, scope>(reinterpret_cast<u64*>(address), static_cast<u64>(value)));
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_and(T* address, T value) {
  IRIS_ATOMIC(__nv_atomic_fetch_and, address, value)
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_or(T* address, T value) {
  IRIS_ATOMIC(__nv_atomic_fetch_or, address, value)
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_xor(T* address, T value) {
  IRIS_ATOMIC(__nv_atomic_fetch_xor, address, value)
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_min(T* address, T value) {
  IRIS_ATOMIC(__nv_atomic_fetch_min, address, value)
}
template <Order order, Scope scope, typename T>
__device__ __forceinline__ T fetch_max(T* address, T value){IRIS_ATOMIC(__nv_atomic_fetch_max, address, value)}
#undef IRIS_COMPARE_EXCHANGE
#undef IRIS_ATOMIC
#undef IRIS_AT_SCOPE

/// Release store to a flag that another GPU reads.
__device__ __forceinline__ void store_flag(u64* flag, u64 value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(flag)), "l"(value) : "memory");
}

/// Of a clock that all compute units share.
__device__ __forceinline__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

struct Poll {
  __device__ static u64 load(const u64* flag) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(flag)) : "memory");
    return value;
  }
  __device__ static Words load_words(const u64* from) {
    Words words;
    asm volatile("{ .reg .b128 both; ld.relaxed.sys.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                 : "=l"(words.values[0]), "=l"(words.values[1])
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
    return words;
  }
  __device__ static void acquire() {}  // each load did
  __device__ static u64 nanoseconds() { return platform::nanoseconds(); }
  __device__ static void pause() {}  // sleeping costs more latency than the polls cost bandwidth
};

__device__ __forceinline__ u64 wait_flag(const u64* flag, u64 at_least, i32 /*peer*/, Wait /*what*/, u64 timeout_ns) {
  return poll_until<Poll>(flag, at_least, timeout_ns);
}

/// As it is: all registers are of lanes.
__device__ __forceinline__ i64 held_by_lanes(i64 value) {
  return value;
}

/// Both as a whole, which PTX promises of 128 bits from sm_70 on.
template <int marks>
__device__ __forceinline__ void store_words(u64* to, const Words& words) {
  asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.global.b128 [%0], both; }" ::"l"(
                   __cvta_generic_to_global(to)),
               "l"(words.values[0]), "l"(words.values[1])
               : "memory");
}

/// Waits for pairs of words, which come from `sources` ranks from `first_source` on, in a circle.
template <int marks, int sources, int world, int count>
__device__ __forceinline__ i32 wait_words(const u64* const (&places)[count], u32 mark, i32 /*first_source*/,
                                          u64 timeout_ns, Words (&seen)[count]) {
  return poll_words<Poll, marks>(places, mark, timeout_ns, seen);
}

}  // namespace platform
}  // namespace iris::device
