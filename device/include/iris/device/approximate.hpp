#pragma once

#include <iris/device/math.hpp>
#include <iris/device/platform/approximate.hpp>

/// Functions of f32 as GPUs' instructions approximate them, in a fraction of the time of those in math.hpp: for what is
/// rounded to 16 bits afterwards, or to fewer, such as an epilogue's activation. Of f64 they are those of math.hpp, by
/// which `run` measures the others: a description that uses them says what they may be off by.
///
/// Bits differ from platform to platform, and so does what becomes of subnormal numbers: they may count as 0. What is
/// said below holds on all of them. NaN gives NaN.
namespace iris::device::approximate {

/// 2^x, but for 2^-21 of it.
__device__ __forceinline__ f32 exp2(f32 x) {
  return platform::approximate_exp2(x);
}
__device__ __forceinline__ f64 exp2(f64 x) {
  return device::exp2(x);
}

/// e^x, but for 2^-21 + |x|·2^-22 of it.
__device__ __forceinline__ f32 exp(f32 x) {
  return exp2(x * math::ExpConstants<f32>::log2_e);
}
__device__ __forceinline__ f64 exp(f64 x) {
  return device::exp(x);
}

/// a / b, but for 2^-21 of it, where |b| and the quotient are from 2^-126 to 2^126.
__device__ __forceinline__ f32 divide(f32 a, f32 b) {
  return a * platform::approximate_reciprocal(b);
}
__device__ __forceinline__ f64 divide(f64 a, f64 b) {
  return a / b;
}

/// The hyperbolic tangent, but for 2^-11, as NVIDIA says; an H100 is off by 2^-16 at most.
__device__ __forceinline__ f32 tanh(f32 x) {
  return platform::approximate_tanh(x);
}
__device__ __forceinline__ f64 tanh(f64 x) {
  return device::tanh(x);
}

/// The error function, but for 2^-20: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 7.1.26.
__device__ __forceinline__ f32 erf(f32 x) {
  const f32 t = platform::approximate_reciprocal(multiply_add(0.3275911f, math::abs(x), 1.0f));
  const f32 sum = t * math::polynomial(t, 0.254829592f, -0.284496736f, 1.421413741f, -1.453152027f, 1.061405429f);
  return math::copysign(1 - sum * exp(-x * x), x);
}
__device__ __forceinline__ f64 erf(f64 x) {
  return device::erf(x);
}

}  // namespace iris::device::approximate
