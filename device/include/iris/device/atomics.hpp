#pragma once

#include <iris/device/context.hpp>

/// Atomic accesses to i32, u32, i64, u64, f32 and f64. `address` may be of any rank: compose with on_rank(). The order
/// and scope are template arguments, relaxed and system-wide unless given: `atomic_add<Order::acq_rel>(p, 1u)`.
/// Read-modify-writes return the old value.
namespace iris::device {

/// `address`, of a type that atomics exist for.
template <typename T>
__device__ __forceinline__ T* checked_atomic(T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an atomic is an integer or a float of 32 or 64 bits");
  return address;
}

/// relaxed or acquire.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_load(const T* address) {
  static_assert(order == Order::relaxed || order == Order::acquire, "a load is relaxed or acquire");
  return platform::atomic_load<order, scope>(checked_atomic(address));
}

/// relaxed or release.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ void atomic_store(T* address, T value) {
  static_assert(order == Order::relaxed || order == Order::release, "a store is relaxed or release");
  platform::atomic_store<order, scope>(checked_atomic(address), value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_xchg(T* address, T value) {
  return platform::atomic_exchange<order, scope>(checked_atomic(address), value);
}

/// Stores `desired` if the old value is `expected`, bit for bit.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_cas(T* address, T expected, T desired) {
  return platform::atomic_compare_exchange<order, scope>(checked_atomic(address), expected, desired);
}

/// Integers wrap around. For floats on gfx90a a loop of compare-and-swap.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_add(T* address, T value) {
  return platform::fetch_add<order, scope>(checked_atomic(address), value);
}

/// Integers wrap around.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_sub(T* address, T value) {
  return platform::fetch_add<order, scope>(checked_atomic(address), static_cast<T>(0 - value));
}

/// Integers only, as are or, xor, min and max.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_and(T* address, T value) {
  return platform::fetch_and<order, scope>(checked_atomic(address), value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_or(T* address, T value) {
  return platform::fetch_or<order, scope>(checked_atomic(address), value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_xor(T* address, T value) {
  return platform::fetch_xor<order, scope>(checked_atomic(address), value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_min(T* address, T value) {
  return platform::fetch_min<order, scope>(checked_atomic(address), value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_max(T* address, T value) {
  return platform::fetch_max<order, scope>(checked_atomic(address), value);
}

}  // namespace iris::device
