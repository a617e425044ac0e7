#pragma once

#include <iris/device/platform.hpp>
#include <iris/device/platform/math/square_root.hpp>

/// AMD Instinct.
namespace iris::device::platform {

/// fma(), of which every platform knows that it rounds once.
template <typename T>
__device__ __forceinline__ T fma_rounded_once(T a, T b, T c) {
  return fma(a, b, c);
}

/// a / b, where they and the quotient are normal numbers: `/` has no branch.
__device__ __forceinline__ f32 normal_quotient(f32 a, f32 b) {
  return a / b;
}

/// Correctly rounded, as no instruction is, nor what all compilers make of their builtin. Subnormal numbers are raised
/// to normal ones.
__device__ __forceinline__ f32 square_root(f32 x) {
  const bool is_small = x < 0x1p-96f;
  const f32 y = is_small ? x * 0x1p+32f : x;
  const f32 root = square_root_from_reciprocal<f32, fma>(y, __builtin_amdgcn_rsqf(y));
  return x == 0 || x == __builtin_inff() ? x : is_small ? root * 0x1p-16f : root;
}
__device__ __forceinline__ f64 square_root(f64 x) {
  const bool is_small = x < 0x1p-700;
  const f64 y = is_small ? x * 0x1p+512 : x;
  const f64 root = square_root_from_reciprocal<f64, fma>(y, __builtin_amdgcn_rsq(y));
  return x == 0 || x == __builtin_inf() ? x : is_small ? root * 0x1p-256 : root;
}

}  // namespace iris::device::platform
