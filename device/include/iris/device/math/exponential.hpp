#pragma once

#include <iris/device/math/floating.hpp>

/// Exponential functions by Cody and Waite's reduction (Software Manual for the Elementary Functions, 1980; Muller et
/// al., Handbook of Floating-Point Arithmetic, 2nd ed., chapter 10): e^x = 2^n · e^r, where n is an integer, |r| is at
/// most ln 2 / 2 and e^r is a minimax polynomial.
namespace iris::device::math {

/// The integer nearest to a·b, for |a·b| below 2^22 (2^51): in the last place of `shifter` there is room for no
/// fraction.
template <typename T>
struct NearestInteger {
  T value;
  i32 integer;

  __device__ static NearestInteger of_product(T a, T b) {
    const T shifter = power_of_two<T>(Format<T>::fraction_bits) * T(1.5);
    const T shifted = platform::fma_rounded_once(a, b, shifter);
    return {shifted - shifter, static_cast<i32>(bits_of(shifted) - bits_of(shifter))};
  }
};

/// 2^exponent · x, rounded once, to a subnormal, too; for exponents whose halves are those of normal numbers.
template <typename T>
__device__ __forceinline__ T scale(T x, i32 exponent) {
  const i32 half = exponent >> 1;
  return x * power_of_two<T>(half) * power_of_two<T>(exponent - half);
}

/// (e^r - 1 - r) / r², for |r| <= 0.3475, to 2^-28 and 2^-61 of e^r - 1.
__device__ __forceinline__ f32 exp_tail(f32 r) {
  return polynomial(r, 0x1p-1f, 0x1.555556p-3f, 0x1.5554acp-5f, 0x1.11108ep-7f, 0x1.6d7612p-10f, 0x1.a1a2eep-13f);
}
__device__ __forceinline__ f64 exp_tail(f64 r) {
  return polynomial(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f635p-7, 0x1.6c16c16c143a4p-10,
                    0x1.a01a01b01d73fp-13, 0x1.a01a01b0ef89ap-16, 0x1.71ddf7b3ffb2dp-19, 0x1.27e4c523599bap-22,
                    0x1.af5ff14dd66b4p-26, 0x1.1f962a99bf48bp-29);
}

template <typename T>
struct ExpConstants;
template <>
struct ExpConstants<f32> {
  static constexpr f32 log2_e = 0x1.715476p0f;
  static constexpr f32 ln_2 = 0x1.62e43p-1f;
  static constexpr f32 ln_2_rest = -0x1.05c61p-29f;
  // Beyond these it is known what comes out: infinity or 0, and of expm1 -1.
  static constexpr f32 exp_low = -105;
  static constexpr f32 exp_high = 89;
  static constexpr f32 exp2_low = -151;
  static constexpr f32 exp2_high = 129;
  static constexpr f32 expm1_low = -18;
  static constexpr f32 expm1_is_x = 0x1p-25f;
};
template <>
struct ExpConstants<f64> {
  static constexpr f64 log2_e = 0x1.71547652b82fep0;
  static constexpr f64 ln_2 = 0x1.62e42fefa39efp-1;
  static constexpr f64 ln_2_rest = 0x1.abc9e3b39803fp-56;
  static constexpr f64 exp_low = -746;
  static constexpr f64 exp_high = 710;
  static constexpr f64 exp2_low = -1076;
  static constexpr f64 exp2_high = 1025;
  static constexpr f64 expm1_low = -40;
  static constexpr f64 expm1_is_x = 0x1p-54;
};

/// x - n · ln 2, where n is near x / ln 2. The first step is exact.
template <typename T>
__device__ __forceinline__ T reduce_by_ln_2(T x, T n) {
  using Constants = ExpConstants<T>;
  const T first = platform::fma_rounded_once(-n, T(Constants::ln_2), x);
  return platform::fma_rounded_once(-n, T(Constants::ln_2_rest), first);
}

/// e^x where that is a normal number, for less: nothing has to be bounded, and one product scales.
template <typename T>
__device__ __forceinline__ T normal_exp(T x) {
  const auto n = NearestInteger<T>::of_product(x, ExpConstants<T>::log2_e);
  const T r = reduce_by_ln_2(x, n.value);
  return polynomial(r, T(1), T(1), exp_tail(r)) * power_of_two<T>(n.integer);
}

template <typename T>
__device__ __forceinline__ T exp(T x) {
  using Constants = ExpConstants<T>;
  const T y = clamp(x, T(Constants::exp_low), T(Constants::exp_high));
  const auto n = NearestInteger<T>::of_product(y, Constants::log2_e);
  const T r = reduce_by_ln_2(y, n.value);
  return scale(polynomial(r, T(1), T(1), exp_tail(r)), n.integer);
}

template <typename T>
__device__ __forceinline__ T exp2(T x) {
  using Constants = ExpConstants<T>;
  const T y = clamp(x, T(Constants::exp2_low), T(Constants::exp2_high));
  const auto n = NearestInteger<T>::of_product(y, T(1));
  const T fraction = y - n.value;
  const T r = platform::fma_rounded_once(fraction, T(Constants::ln_2), fraction * T(Constants::ln_2_rest));
  return scale(polynomial(r, T(1), T(1), exp_tail(r)), n.integer);
}

/// 2^n · (e^r - 1) + (2^n - 1), of half the size, since 2^n may be above the largest number.
template <typename T>
__device__ __forceinline__ T expm1(T x) {
  using Constants = ExpConstants<T>;
  const T y = clamp(x, T(Constants::expm1_low), T(Constants::exp_high));
  const auto n = NearestInteger<T>::of_product(y, Constants::log2_e);
  const T r = reduce_by_ln_2(y, n.value);
  const T reduced = platform::fma_rounded_once(r * r, exp_tail(r), r);
  const T half = power_of_two<T>(n.integer - 1);
  const T result = 2 * platform::fma_rounded_once(half, reduced, half - T(0.5));
  return abs(x) < T(Constants::expm1_is_x) ? x : result;
}

/// x + x³·P(x²) near 0, from there on 1 - 2 / (e^2x + 1). Both are computed, as by erf().
__device__ __forceinline__ f32 tanh(f32 x) {
  const f32 y = abs(x);
  const f32 square = y * y;
  const f32 tail =
      polynomial(square, -0x1.55554cp-2f, 0x1.110d6ap-3f, -0x1.b931f6p-5f, 0x1.59820ap-6f, -0x1.9c90dep-8f);
  const f32 near = platform::fma_rounded_once(y * square, tail, y);
  const f32 far = 1 - platform::normal_quotient(2, normal_exp(2 * (y > 10 ? 10 : y)) + 1);
  return copysign(y < 0.55f ? near : far, x);
}
/// (e^2x - 1) / (e^2x + 1).
__device__ __forceinline__ f64 tanh(f64 x) {
  const f64 y = abs(x);
  const f64 numerator = expm1(2 * (y > 20 ? 20 : y));
  return copysign(numerator / (numerator + 2), x);
}

}  // namespace iris::device::math
