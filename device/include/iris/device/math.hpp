#pragma once

#include <iris/device/math/error_function.hpp>
#include <iris/device/math/exponential.hpp>
#include <iris/device/math/logarithm.hpp>
#include <iris/device/reduce.hpp>

/// Elementary functions of f32 and f64, each in arithmetic of its own type. They give the same bits on every platform,
/// but for NaN's sign and payload: they are made of additions, multiplications, divisions, square roots and fused
/// multiply-adds that round as IEEE 754 says, spelt so that a compiler which contracts a·b + c finds nothing to
/// contract within them. Subnormal numbers count, as arguments and as results. NaN gives NaN; outside of a function's
/// domain it gives NaN, at a pole infinity.
///
/// For each a bound of the errors found is stated, in units in the last place (ulp): over all values of f32 and 2^24 of
/// f64. What is correctly rounded is off by half a unit.
///
/// Arguments of other types do not compile: convert them first. NVRTC, hipcc and the C library have functions of the
/// same names in the global namespace, which a using-directive does not hide: a call without a qualifier is ambiguous
/// there. In kernels that irisgen emits it means these.
namespace iris::device {

/// e^x. f32: 0.9; f64: 0.9.
__device__ __forceinline__ f32 exp(f32 x) {
  return math::exp(x);
}
__device__ __forceinline__ f64 exp(f64 x) {
  return math::exp(x);
}

/// 2^x. f32: 1.0; f64: 0.9.
__device__ __forceinline__ f32 exp2(f32 x) {
  return math::exp2(x);
}
__device__ __forceinline__ f64 exp2(f64 x) {
  return math::exp2(x);
}

/// e^x - 1, precise near 0, too. f32: 1.5; f64: 1.9.
__device__ __forceinline__ f32 expm1(f32 x) {
  return math::expm1(x);
}
__device__ __forceinline__ f64 expm1(f64 x) {
  return math::expm1(x);
}

/// ln x. f32: 1.0; f64: 1.0.
__device__ __forceinline__ f32 log(f32 x) {
  return math::log(x);
}
__device__ __forceinline__ f64 log(f64 x) {
  return math::log(x);
}

/// log2 x. f32: 1.2; f64: 1.3.
__device__ __forceinline__ f32 log2(f32 x) {
  return math::log2(x);
}
__device__ __forceinline__ f64 log2(f64 x) {
  return math::log2(x);
}

/// ln(1 + x), precise near 0, too. f32: 1.6; f64: 1.6.
__device__ __forceinline__ f32 log1p(f32 x) {
  return math::log1p(x);
}
__device__ __forceinline__ f64 log1p(f64 x) {
  return math::log1p(x);
}

/// The hyperbolic tangent. f32: 1.6; f64: 2.7.
__device__ __forceinline__ f32 tanh(f32 x) {
  return math::tanh(x);
}
__device__ __forceinline__ f64 tanh(f64 x) {
  return math::tanh(x);
}

/// The error function, 2/√π · ∫ e^-t² dt from 0 to x. f32: 1.2; f64: 1.2.
__device__ __forceinline__ f32 erf(f32 x) {
  return math::erf(x);
}
__device__ __forceinline__ f64 erf(f64 x) {
  return math::erf(x);
}

/// √x, correctly rounded.
__device__ __forceinline__ f32 sqrt(f32 x) {
  return platform::square_root(x);
}
__device__ __forceinline__ f64 sqrt(f64 x) {
  return platform::square_root(x);
}

/// 1 / √x, both rounded correctly. f32: 1.5; f64: 1.5.
__device__ __forceinline__ f32 rsqrt(f32 x) {
  return 1 / sqrt(x);
}
__device__ __forceinline__ f64 rsqrt(f64 x) {
  return 1 / sqrt(x);
}

/// a·b + c, rounded once on every platform, which multiply_add() is not on the CPU.
__device__ __forceinline__ f32 fma(f32 a, f32 b, f32 c) {
  return platform::fma_rounded_once(a, b, c);
}
__device__ __forceinline__ f64 fma(f64 a, f64 b, f64 c) {
  return platform::fma_rounded_once(a, b, c);
}

/// The largest integer that is not above x.
__device__ __forceinline__ f32 floor(f32 x) {
  return math::floor(x);
}
__device__ __forceinline__ f64 floor(f64 x) {
  return math::floor(x);
}

/// The smallest integer that is not below x.
__device__ __forceinline__ f32 ceil(f32 x) {
  return math::ceil(x);
}
__device__ __forceinline__ f64 ceil(f64 x) {
  return math::ceil(x);
}

/// The nearest integer; of two the even one.
__device__ __forceinline__ f32 rint(f32 x) {
  return math::rint(x);
}
__device__ __forceinline__ f64 rint(f64 x) {
  return math::rint(x);
}

/// |x|; in i32 modulo 2^32.
__device__ __forceinline__ f32 abs(f32 x) {
  return math::abs(x);
}
__device__ __forceinline__ f64 abs(f64 x) {
  return math::abs(x);
}
__device__ __forceinline__ i32 abs(i32 x) {
  return x < 0 ? static_cast<i32>(0u - static_cast<u32>(x)) : x;
}

/// The first one's magnitude with the second one's sign.
__device__ __forceinline__ f32 copysign(f32 magnitude, f32 sign) {
  return math::copysign(magnitude, sign);
}
__device__ __forceinline__ f64 copysign(f64 magnitude, f64 sign) {
  return math::copysign(magnitude, sign);
}

/// The smaller one; NaN if either is NaN.
__device__ __forceinline__ f32 min(f32 a, f32 b) {
  return Min::apply(a, b);
}
__device__ __forceinline__ f64 min(f64 a, f64 b) {
  return Min::apply(a, b);
}
__device__ __forceinline__ i32 min(i32 a, i32 b) {
  return Min::apply(a, b);
}
__device__ __forceinline__ i64 min(i64 a, i64 b) {
  return Min::apply(a, b);
}

/// The larger one; NaN if either is NaN.
__device__ __forceinline__ f32 max(f32 a, f32 b) {
  return Max::apply(a, b);
}
__device__ __forceinline__ f64 max(f64 a, f64 b) {
  return Max::apply(a, b);
}
__device__ __forceinline__ i32 max(i32 a, i32 b) {
  return Max::apply(a, b);
}
__device__ __forceinline__ i64 max(i64 a, i64 b) {
  return Max::apply(a, b);
}

__device__ __forceinline__ bool is_nan(f32 x) {
  return x != x;
}
__device__ __forceinline__ bool is_nan(f64 x) {
  return x != x;
}

__device__ __forceinline__ bool is_infinite(f32 x) {
  return math::abs(x) == math::infinity<f32>();
}
__device__ __forceinline__ bool is_infinite(f64 x) {
  return math::abs(x) == math::infinity<f64>();
}

/// +∞ as an f32 or f64.
template <typename T>
__device__ __forceinline__ T infinity() {
  return math::infinity<T>();
}

}  // namespace iris::device
