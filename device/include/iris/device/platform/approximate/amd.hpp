#pragma once

#include <iris/device/platform.hpp>
#include <iris/device/platform/approximate/tanh.hpp>

/// AMD Instinct.
namespace iris::device::platform {

__device__ __forceinline__ f32 approximate_exp2(f32 x) {
#if __has_builtin(__builtin_amdgcn_exp2f)
  return __builtin_amdgcn_exp2f(x);
#else
  return __builtin_exp2f(x);  // the compilers that lack the other make an instruction or a few of it
#endif
}

__device__ __forceinline__ f32 approximate_reciprocal(f32 x) {
  return __builtin_amdgcn_rcpf(x);
}

__device__ __forceinline__ f32 approximate_tanh(f32 x) {
  return tanh_from_exp2<approximate_exp2, approximate_reciprocal>(x);
}

}  // namespace iris::device::platform
