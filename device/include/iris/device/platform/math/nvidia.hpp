#pragma once

#include <iris/device/platform/approximate/nvidia.hpp>
#include <iris/device/platform/math/quotient.hpp>

/// NVIDIA: both are instructions, or sequences of them that the compiler knows.
namespace iris::device::platform {

/// fma(), of which every platform knows that it rounds once.
template <typename T>
__device__ __forceinline__ T fma_rounded_once(T a, T b, T c) {
  return fma(a, b, c);
}

/// a / b, correctly rounded, where they and the quotient are normal numbers and far from the ends. On an H100 all 2 / b
/// that tanh() asks for were compared with what `/` gives.
__device__ __forceinline__ f32 normal_quotient(f32 a, f32 b) {
  return quotient_from_reciprocal<fma_rounded_once>(a, b, approximate_reciprocal(b));
}

/// Correctly rounded.
__device__ __forceinline__ f32 square_root(f32 x) {
  return __fsqrt_rn(x);
}
__device__ __forceinline__ f64 square_root(f64 x) {
  return __dsqrt_rn(x);
}

}  // namespace iris::device::platform
