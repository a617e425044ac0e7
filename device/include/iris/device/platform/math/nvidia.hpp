#pragma once

#include <iris/device/platform.hpp>

/// NVIDIA: both are instructions, or sequences of them that the compiler knows.
namespace iris::device::platform {

/// fma(), of which every platform knows that it rounds once.
template <typename T>
__device__ __forceinline__ T fma_rounded_once(T a, T b, T c) {
  return fma(a, b, c);
}

/// a / b, correctly rounded, where they and the quotient are normal numbers and far from the ends: Newton's steps to
/// 1 / b and to the quotient (Muller et al., Handbook of Floating-Point Arithmetic, 2nd ed., chapter 4), without the
/// branch that `/` has for all others.
__device__ __forceinline__ f32 normal_quotient(f32 a, f32 b) {
  f32 rough;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(b));
  const f32 reciprocal = fma(fma(-b, rough, 1.0f), rough, rough);
  const f32 near = a * reciprocal;
  const f32 nearer = fma(fma(-b, near, a), reciprocal, near);
  return fma(fma(-b, nearer, a), reciprocal, nearer);
}

/// Correctly rounded.
__device__ __forceinline__ f32 square_root(f32 x) {
  return __fsqrt_rn(x);
}
__device__ __forceinline__ f64 square_root(f64 x) {
  return __dsqrt_rn(x);
}

}  // namespace iris::device::platform
