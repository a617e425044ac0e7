#pragma once

#include <iris/device/platform/math.hpp>

/// What the functions of math.hpp are made of: the parts of an IEEE 754 number, and polynomials.
namespace iris::device::math {

template <typename T>
struct Format;
template <>
struct Format<f32> {
  using Bits = u32;
  static constexpr int fraction_bits = 23;
  static constexpr int bias = 127;
};
template <>
struct Format<f64> {
  using Bits = u64;
  static constexpr int fraction_bits = 52;
  static constexpr int bias = 1023;
};
template <typename T>
using Bits = typename Format<T>::Bits;

template <typename T>
inline constexpr Bits<T> sign_bit = Bits<T>{1} << (8 * sizeof(T) - 1);
template <typename T>
inline constexpr Bits<T> infinity_bits = Bits<T>{2 * Format<T>::bias + 1} << Format<T>::fraction_bits;

template <typename T>
__device__ __forceinline__ Bits<T> bits_of(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <typename T>
__device__ __forceinline__ T from_bits(Bits<T> bits) {
  return __builtin_bit_cast(T, bits);
}

template <typename T>
__device__ __forceinline__ T infinity() {
  return from_bits<T>(infinity_bits<T>);
}
template <typename T>
__device__ __forceinline__ T not_a_number() {
  return from_bits<T>(infinity_bits<T> | infinity_bits<T> >> 1);
}

template <typename T>
__device__ __forceinline__ T abs(T x) {
  return from_bits<T>(bits_of(x) & ~sign_bit<T>);
}
template <typename T>
__device__ __forceinline__ T copysign(T magnitude, T sign) {
  return from_bits<T>((bits_of(magnitude) & ~sign_bit<T>) | (bits_of(sign) & sign_bit<T>));
}

/// `low` and `high` bound x; NaN stays.
template <typename T>
__device__ __forceinline__ T clamp(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}

/// 2^exponent, which is a normal number.
template <typename T>
__device__ __forceinline__ T power_of_two(i32 exponent) {
  return from_bits<T>(static_cast<Bits<T>>(exponent + Format<T>::bias) << Format<T>::fraction_bits);
}

/// c0 + c1·x + c2·x² + …, by Horner's rule. The last step rounds once, so nothing that follows can be contracted with
/// it.
template <typename T>
__device__ __forceinline__ T polynomial(T /*x*/, T c0) {
  return c0;
}
template <typename T, typename... More>
__device__ __forceinline__ T polynomial(T x, T c0, More... more) {
  return platform::fma_rounded_once(x, polynomial(x, more...), c0);
}

/// To nearest, halfway to even: from 2^23 (2^52) on there are no fractions, and below, adding that number drops them.
template <typename T>
__device__ __forceinline__ T rint(T x) {
  const T no_fractions = power_of_two<T>(Format<T>::fraction_bits);
  const T magnitude = abs(x);
  return magnitude < no_fractions ? copysign((magnitude + no_fractions) - no_fractions, x) : x;
}
template <typename T>
__device__ __forceinline__ T floor(T x) {
  const T nearest = rint(x);
  return nearest > x ? nearest - 1 : nearest;
}
template <typename T>
__device__ __forceinline__ T ceil(T x) {
  const T nearest = rint(x);
  return copysign(nearest < x ? nearest + 1 : nearest, x);  // -0 for what lies above -1
}

}  // namespace iris::device::math
