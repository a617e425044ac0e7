#pragma once

#include <iris/device/platform.hpp>

/// NVIDIA: both are instructions, or sequences of them that the compiler knows.
namespace iris::device::platform {

/// fma(), of which every platform knows that it rounds once.
template <typename T>
__device__ __forceinline__ T fma_rounded_once(T a, T b, T c) {
  return fma(a, b, c);
}

/// Correctly rounded.
__device__ __forceinline__ f32 square_root(f32 x) {
  return __fsqrt_rn(x);
}
__device__ __forceinline__ f64 square_root(f64 x) {
  return __dsqrt_rn(x);
}

}  // namespace iris::device::platform
