#pragma once

#include <iris/device/platform.hpp>

/// A quotient from a rough reciprocal of the denominator, for platforms whose `/` branches to what is not normal.
namespace iris::device::platform {

/// a / b, correctly rounded, if `rough` is 1 / b to 2^-23, where all digits of b are ones correctly rounded, and all
/// steps stay within the normal numbers: a step of Newton's to 1 / b, and one of the quotient by its residual, which is
/// exact since `fma` rounds once (P. Markstein, Computation of elementary functions on the IBM RISC System/6000
/// processor, 1990; Muller et al., Handbook of Floating-Point Arithmetic).
template <f32 fma(f32, f32, f32)>
__device__ __forceinline__ f32 quotient_from_reciprocal(f32 a, f32 b, f32 rough) {
  const f32 reciprocal = fma(fma(-b, rough, 1.0f), rough, rough);
  const f32 near = a * reciprocal;
  return fma(fma(-b, near, a), reciprocal, near);
}

}  // namespace iris::device::platform
