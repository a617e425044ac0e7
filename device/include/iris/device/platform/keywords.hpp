#pragma once

// Before a parameter of a user's kernel: the buffer must lie on the symmetric heap. Read by irisgen, nothing to
// compilers.
#ifndef IRIS_SYMMETRIC
#define IRIS_SYMMETRIC
#endif

// HIP's keywords, for compilers that lack them: bare Clang for amdgcn has attributes, and on the CPU they mean nothing.
// NVRTC, nvcc and hiprtc bring them.
#ifndef __device__
#if defined(__AMDGCN__)
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads, ...) \
  __attribute__((amdgpu_flat_work_group_size(1, threads) __VA_OPT__(, amdgpu_waves_per_eu(__VA_ARGS__))))
#elif !defined(__CUDACC__)
#define __device__
#define __global__
#define __launch_bounds__(...)
#endif
#endif
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
