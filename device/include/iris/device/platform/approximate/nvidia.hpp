#pragma once

#include <iris/device/platform.hpp>

/// NVIDIA: each is an instruction.
namespace iris::device::platform {

__device__ __forceinline__ f32 approximate_exp2(f32 x) {
  f32 result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ f32 approximate_reciprocal(f32 x) {
  f32 result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ f32 approximate_tanh(f32 x) {
  f32 result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace iris::device::platform
