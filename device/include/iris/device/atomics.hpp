#pragma once

#include <iris/device/context.hpp>

/// Atomic accesses to i32, u32, i64, u64, f32 and f64. `address` may be of any rank: compose with on_rank(). The order
/// and scope are template arguments, relaxed and system-wide unless given: `atomic_add<Order::acq_rel>(p, 1u)`.
/// Read-modify-writes return the old value.
namespace iris::device {

/// relaxed or acquire.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_load(const T* address) {
  static_assert(order == Order::relaxed || order == Order::acquire, "a load is relaxed or acquire");
  return platform::atomic_load<order, scope>(address);
}

/// relaxed or release.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ void atomic_store(T* address, T value) {
  static_assert(order == Order::relaxed || order == Order::release, "a store is relaxed or release");
  platform::atomic_store<order, scope>(address, value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_xchg(T* address, T value) {
  return platform::atomic_exchange<order, scope>(address, value);
}

/// Stores `desired` if the old value is `expected`, bit for bit.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_cas(T* address, T expected, T desired) {
  return platform::atomic_compare_exchange<order, scope>(address, expected, desired);
}

/// Integers wrap around.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_add(T* address, T value) {
  return platform::fetch_add<order, scope>(address, value);
}

/// Integers wrap around.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_sub(T* address, T value) {
  return platform::fetch_add<order, scope>(address, static_cast<T>(0 - value));
}

/// Integers only, as are or, xor, min and max.
template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_and(T* address, T value) {
  return platform::fetch_and<order, scope>(address, value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_or(T* address, T value) {
  return platform::fetch_or<order, scope>(address, value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_xor(T* address, T value) {
  return platform::fetch_xor<order, scope>(address, value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_min(T* address, T value) {
  return platform::fetch_min<order, scope>(address, value);
}

template <Order order = Order::relaxed, Scope scope = Scope::sys, typename T>
__device__ __forceinline__ T atomic_max(T* address, T value) {
  return platform::fetch_max<order, scope>(address, value);
}

}  // namespace iris::device
