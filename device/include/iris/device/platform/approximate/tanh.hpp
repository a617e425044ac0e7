#pragma once

#include <iris/device/math/exponential.hpp>

/// The hyperbolic tangent, for platforms that have no instruction for it.
namespace iris::device::platform {

/// (1 - e^-2|x|) / (1 + e^-2|x|), with x's sign; it is off by as much as 1 is, however small the result.
template <f32 exp2(f32), f32 reciprocal(f32)>
__device__ __forceinline__ f32 tanh_from_exp2(f32 x) {
  const f32 power = exp2(-2 * math::ExpConstants<f32>::log2_e * math::abs(x));
  return math::copysign((1 - power) * reciprocal(1 + power), x);
}

}  // namespace iris::device::platform
