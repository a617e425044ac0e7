#pragma once

#include <iris/device/platform.hpp>

/// The CPU.
namespace iris::device::platform {

/// As GPUs do it: by the C library, which knows whether the CPU has an instruction.
inline f32 fma_rounded_once(f32 a, f32 b, f32 c) {
  return __builtin_fmaf(a, b, c);
}
inline f64 fma_rounded_once(f64 a, f64 b, f64 c) {
  return __builtin_fma(a, b, c);
}

/// a / b, where they and the quotient are normal numbers.
inline f32 normal_quotient(f32 a, f32 b) {
  return a / b;
}

/// Correctly rounded.
inline f32 square_root(f32 x) {
  return __builtin_sqrtf(x);
}
inline f64 square_root(f64 x) {
  return __builtin_sqrt(x);
}

}  // namespace iris::device::platform
