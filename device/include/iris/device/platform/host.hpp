#pragma once

#include <iris/device/abi.hpp>
#include <iris/device/platform/host_abi.hpp>
#include <iris/device/platform/order.hpp>
#include <iris/device/platform/poll.hpp>
#include <iris/device/types.hpp>

/// Filled in by whoever loads the kernel, before its first call.
extern "C" {
__attribute__((weak, visibility("default"))) const iris::device::Engine* iris_host_engine = nullptr;
}

/// The CPU: threads are fibers of one engine, see host_abi.hpp.
namespace iris::device {

/// Constant for a fiber, so a loop need not ask again.
__attribute__((const)) inline i32 thread_index() {
  return static_cast<i32>(iris_host_engine->thread_index());
}
__attribute__((const)) inline i32 block_index() {
  return static_cast<i32>(iris_host_engine->block_index());
}

namespace platform {
template <typename T>
inline constexpr char shared_key = 0;
}

/// The block's one object of type T in shared memory. Not cleared.
template <typename T>
T& shared() {
  return *static_cast<T*>(iris_host_engine->shared(&platform::shared_key<T>, sizeof(T), alignof(T)));
}

/// Threads that run together, whole ones of which make a block: a fiber runs alone.
inline constexpr i32 wave_size = 1;

/// Waits for every thread of the block.
inline void sync_block() {
  iris_host_engine->sync_block();
}

/// sync_block(); stores are performed at once here.
inline void sync_block_after_stores() {
  iris_host_engine->sync_block();
}

/// sync_block(); true if every thread passed true.
inline bool sync_block_and(bool mine) {
  return iris_host_engine->sync_block_and(mine ? 1 : 0) != 0;
}

namespace platform {

template <int bytes>
struct alignas(bytes) Bits {
  unsigned char content[bytes];
};

/// GPUs take no other accesses.
template <int bytes>
void require_alignment(const void* place) {
  if (reinterpret_cast<u64>(place) % bytes != 0) __builtin_trap();
}

template <int bytes>
Bits<bytes> load_bits(const void* from) {
  require_alignment<bytes>(from);
  Bits<bytes> value;
  __builtin_memcpy(&value, from, bytes);
  return value;
}
template <int bytes>
void store_bits(void* to, Bits<bytes> value) {
  require_alignment<bytes>(to);
  __builtin_memcpy(to, &value, bytes);
}

// Out of line: inlined into unrolled loops, conversions are most of a kernel's code and of the time to compile it.
__attribute__((noinline)) inline f32 f16_to_f32(unsigned short bits) {
  const u32 sign = static_cast<u32>(bits & 0x8000) << 16;
  const u32 magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return __builtin_bit_cast(f32, sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return __builtin_bit_cast(f32, sign | ((magnitude << 13) + (112u << 23)));
  const f32 subnormal = static_cast<f32>(magnitude) * 0x1p-24f;
  return sign != 0 ? -subnormal : subnormal;
}

/// Rounds to nearest even.
__attribute__((noinline)) inline unsigned short f32_to_f16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<unsigned short>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<unsigned short>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Adding 0.5 leaves the subnormal's bits, rounded by the addition, at the bottom of the significand.
    const u32 shifted = __builtin_bit_cast(u32, __builtin_bit_cast(f32, magnitude) + 0.5f);
    return static_cast<unsigned short>(sign | (shifted - 0x3f000000));
  }
  const u32 rounded = magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1);
  return static_cast<unsigned short>(sign | rounded >> 13);
}

/// Rounds to nearest even; NaN stays NaN.
__attribute__((noinline)) inline unsigned short f32_to_bf16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if (value != value) return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Two roundings: one would need a library or an instruction that not every CPU has.
inline f32 fma(f32 a, f32 b, f32 c) {
  return a * b + c;
}
inline f64 fma(f64 a, f64 b, f64 c) {
  return a * b + c;
}

/// Any read-modify-write. Fibers of one process change only in before_atomic, but another process may come between.
template <typename T, typename Update>
T update(T* address, Update updated) {
  iris_host_engine->before_atomic(address);
  T before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  T after = updated(before);
  while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    after = updated(before);
  }
  iris_host_engine->after_atomic(address, __builtin_memcmp(&before, &after, sizeof(T)) != 0);
  return before;
}

template <Order, Scope, typename T>
T atomic_load(const T* address) {
  iris_host_engine->before_atomic(address);
  T value;
  __atomic_load(address, &value, __ATOMIC_ACQUIRE);
  iris_host_engine->after_atomic(address, 0);
  return value;
}
template <Order, Scope, typename T>
void atomic_store(T* address, T value) {
  update(address, [value](T) { return value; });
}
template <Order, Scope, typename T>
T atomic_exchange(T* address, T value) {
  return update(address, [value](T) { return value; });
}
template <Order, Scope, typename T>
T atomic_compare_exchange(T* address, T expected, T desired) {
  return update(address, [=](T old) { return __builtin_memcmp(&old, &expected, sizeof(T)) == 0 ? desired : old; });
}
template <Order, Scope, typename T>
T fetch_add(T* address, T value) {
  return update(address, [value](T old) {
    if constexpr (static_cast<T>(0.5f) != 0) {
      return old + value;
    } else {
      T sum;  // wraps around, as on a GPU
      __builtin_add_overflow(old, value, &sum);
      return sum;
    }
  });
}
template <Order, Scope, typename T>
T fetch_and(T* address, T value) {
  return update(address, [value](T old) { return old & value; });
}
template <Order, Scope, typename T>
T fetch_or(T* address, T value) {
  return update(address, [value](T old) { return old | value; });
}
template <Order, Scope, typename T>
T fetch_xor(T* address, T value) {
  return update(address, [value](T old) { return old ^ value; });
}
template <Order, Scope, typename T>
T fetch_min(T* address, T value) {
  return update(address, [value](T old) { return value < old ? value : old; });
}
template <Order, Scope, typename T>
T fetch_max(T* address, T value) {
  return update(address, [value](T old) { return old < value ? value : old; });
}

/// Release store to a flag that another rank reads.
inline void store_flag(u64* flag, u64 value) {
  atomic_store<Order::release, Scope::sys>(flag, value);
}

/// The engine parks the fiber and knows when nobody can wake it, so it needs no clock.
inline u64 wait_flag(const u64* flag, u64 at_least, i32 peer, Wait what, u64 /*timeout_ns*/) {
  iris_host_engine->wait(flag, at_least, peer, what);
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/// As it is.
inline i64 held_by_lanes(i64 value) {
  return value;
}

/// The word that has a mark in any case comes last, so whoever sees that has both.
template <int marks>
void store_words(u64* to, const Words& words) {
  atomic_store<Order::relaxed, Scope::sys>(to, words.values[0]);
  atomic_store<Order::release, Scope::sys>(to + 1, words.values[1]);
}

/// Waits for pairs of words, which come from `sources` ranks from `first_source` on, in a circle. Marks count up, and
/// here they never wrap around.
template <int marks, int sources, int world, int count>
i32 wait_words(const u64* const (&places)[count], u32 mark, i32 first_source, u64 /*timeout_ns*/,
               Words (&seen)[count]) {
  i32 missing = -1;
  for (i32 i = 0; i < count; ++i) {
    for (int word = 1; word >= 2 - marks; --word) {
      const u64* const place = places[i] + word;
      if (iris_host_engine->wait(place, u64{mark} << 32, (first_source + i % sources) % world, Wait::line) == 0)
        missing = i;
    }
    for (int word = 1; word >= 0; --word) seen[i].values[word] = __atomic_load_n(places[i] + word, __ATOMIC_ACQUIRE);
  }
  return missing;
}

template <int... indices>
struct Indices {};
template <int count, int... indices>
struct IndicesUpTo : IndicesUpTo<count - 1, count - 1, indices...> {};
template <int... indices>
struct IndicesUpTo<0, indices...> {
  using type = Indices<indices...>;
};

template <typename... Parameters, int... indices>
void call_entry(void (*entry)(Parameters...), void* const* arguments, Indices<indices...>) {
  entry(*static_cast<Parameters*>(arguments[indices])...);
}

}  // namespace platform

/// Calls a kernel's entry with arguments given as one pointer to each argument's bytes: how the engine starts a fiber.
template <typename... Parameters>
void call_entry(void (*entry)(Parameters...), void* const* arguments) {
  platform::call_entry(entry, arguments, typename platform::IndicesUpTo<sizeof...(Parameters)>::type{});
}

}  // namespace iris::device
