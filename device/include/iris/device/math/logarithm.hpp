#pragma once

#include <iris/device/math/floating.hpp>

/// Logarithms: x = 2^k · (1 + f), where 1 + f lies between the square roots of 1/2 and 2 (Muller et al., Handbook of
/// Floating-Point Arithmetic, 2nd ed., chapter 10), and ln(1 + f) = f + t with a small t, so that what t loses counts
/// little.
namespace iris::device::math {

template <typename T>
struct Logarithm {
  T f;
  T t;
  T k;
};

/// ln(1 + f) - f = f²·(f·P(f) - 1/2).
__device__ __forceinline__ f32 log_tail(f32 f) {
  const f32 tail = polynomial(f, -0.5f, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a00ap-3f, -0x1.547242p-3f,
                              0x1.22d9ecp-3f, -0x1.0d852ep-3f, 0x1.055cb8p-3f, -0x1.38b904p-4f);
  return f * f * tail;
}
/// ln(1 + f) = 2·artanh(s), with s = f / (2 + f), is 2·s + s·R(s²), and 2·s = f - s·f.
__device__ __forceinline__ f64 log_tail(f64 f) {
  const f64 s = f / (2 + f);
  const f64 square = s * s;
  const f64 series = polynomial(square, 0x1.5555555555593p-1, 0x1.999999997fca1p-2, 0x1.2492494201c18p-2,
                                0x1.c71c51faefb4bp-3, 0x1.7466420c6e916p-3, 0x1.39a1653931987p-3, 0x1.2f08ec1865e24p-3);
  return s * platform::fma_rounded_once(square, series, -f);
}

template <typename T>
struct LogConstants;
template <>
struct LogConstants<f32> {
  static constexpr f32 sqrt_half = 0x1.6a09e6p-1f;
  static constexpr f32 ln_2 = 0x1.62e43p-1f;
  static constexpr f32 ln_2_rest = -0x1.05c61p-29f;
  static constexpr f32 log2_e = 0x1.715476p0f;
  static constexpr f32 log2_e_rest = 0x1.4ae0cp-26f;
  static constexpr f32 log1p_is_x = 0x1p-25f;
};
template <>
struct LogConstants<f64> {
  static constexpr f64 sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr f64 ln_2 = 0x1.62e42fefa39efp-1;
  static constexpr f64 ln_2_rest = 0x1.abc9e3b39803fp-56;
  static constexpr f64 log2_e = 0x1.71547652b82fep0;
  static constexpr f64 log2_e_rest = 0x1.777d0ffda0d24p-56;
  static constexpr f64 log1p_is_x = 0x1p-54;
};

/// x = 2^exponent · fraction, for a positive normal number.
template <typename T>
struct Split {
  T fraction;
  i32 exponent;

  __device__ static Split of(T x) {
    const Bits<T> above = bits_of(x) - bits_of(T(LogConstants<T>::sqrt_half));
    // Sign and exponent of the difference, in the upper half of an f64.
    const i32 exponent = static_cast<i32>(above >> (8 * sizeof(T) - 32)) >> (Format<T>::fraction_bits % 32);
    const Bits<T> shifted = static_cast<Bits<T>>(exponent) << Format<T>::fraction_bits;
    return {from_bits<T>(bits_of(x) - shifted), exponent};
  }
};

template <typename T>
__device__ __forceinline__ Logarithm<T> logarithm_of(T f, i32 exponent) {
  return {f, log_tail(f), static_cast<T>(exponent)};
}

template <typename T>
__device__ __forceinline__ Logarithm<T> logarithm(T x) {
  constexpr i32 raised = Format<T>::fraction_bits + 1;
  const bool is_subnormal = x < power_of_two<T>(1 - Format<T>::bias);
  const Split<T> split = Split<T>::of(is_subnormal ? x * power_of_two<T>(raised) : x);
  return logarithm_of(split.fraction - 1, is_subnormal ? split.exponent - raised : split.exponent);
}

template <typename T>
__device__ __forceinline__ T natural(const Logarithm<T>& parts) {
  const T rest = platform::fma_rounded_once(parts.k, T(LogConstants<T>::ln_2_rest), parts.t);
  return platform::fma_rounded_once(parts.k, T(LogConstants<T>::ln_2), parts.f + rest);
}

/// `result`, unless x, to which it belongs, has no finite logarithm.
template <typename T>
__device__ __forceinline__ T unless_singular(T x, T result) {
  const T finite = x == infinity<T>() ? x : result;
  return x > 0 ? finite : x == 0 ? -infinity<T>() : not_a_number<T>();
}

template <typename T>
__device__ __forceinline__ T log(T x) {
  return unless_singular(x, natural(logarithm(x)));
}

template <typename T>
__device__ __forceinline__ T log2(T x) {
  using Constants = LogConstants<T>;
  const Logarithm<T> parts = logarithm(x);
  const T rest = platform::fma_rounded_once(parts.f, T(Constants::log2_e_rest), parts.t * T(Constants::log2_e));
  return unless_singular(x, parts.k + platform::fma_rounded_once(parts.f, T(Constants::log2_e), rest));
}

/// The exponent is that of 1 + x, rounded; f = 2^-k · x + (2^-k - 1) is rounded only once. Where x is so large that
/// adding 1 changes nothing, f is x's own.
template <typename T>
__device__ __forceinline__ T log1p(T x) {
  const T sum = 1 + x;
  const Split<T> split = Split<T>::of(sum);
  const T factor = power_of_two<T>(-split.exponent);
  const T f = split.exponent > Format<T>::fraction_bits + 2 ? split.fraction - 1
                                                            : platform::fma_rounded_once(factor, x, factor - 1);
  const T result = unless_singular(sum, natural(logarithm_of(f, split.exponent)));
  return abs(x) < T(LogConstants<T>::log1p_is_x) ? x : result;
}

}  // namespace iris::device::math
