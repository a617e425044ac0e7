#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <iostream>
#include <unordered_map>

namespace engine {

constexpr int kMaxBlocks = 36;
using FlagType = uint32_t;

struct Signal {
  alignas(128) FlagType start[kMaxBlocks][8];
  alignas(128) FlagType end[kMaxBlocks][8];
};

struct __align__(16) RankData {
  const void* __restrict__ ptrs[8];
};

struct __align__(16) RankSignals {
  Signal* signals[8];
};

static __device__ __forceinline__ void st_flag_release(FlagType* flag_addr, FlagType flag) {
  asm volatile("st.release.sys.global.u32 [%1], %0;" ::"r"(flag), "l"(flag_addr));
}

static __device__ __forceinline__ FlagType ld_flag_acquire(FlagType* flag_addr) {
  FlagType flag;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(flag) : "l"(flag_addr));
  return flag;
}

template <int ngpus>
__device__ __forceinline__ void barrier_at_start(const RankSignals& sg, Signal* self_sg, int rank) {
  if (threadIdx.x < ngpus) {
    st_flag_release(&sg.signals[threadIdx.x]->start[blockIdx.x][rank], 1);
    while (ld_flag_acquire(&self_sg->start[blockIdx.x][threadIdx.x]) != 1)
      ;
  }
  __syncthreads();
}

template <typename T, int ngpus>
__global__ void __launch_bounds__(512, 1)
    cross_device_reduce_1stage(RankData* _dp, RankSignals sg, Signal* self_sg, T* __restrict__ result, int rank,
                               int size) {
  auto dp = *_dp;
  barrier_at_start<ngpus>(sg, self_sg, rank);
  for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < size; idx += gridDim.x * blockDim.x) {
    T sum = ((const T*)dp.ptrs[0])[idx];
#pragma unroll
    for (int i = 1; i < ngpus; i++) sum += ((const T*)dp.ptrs[i])[idx];
    result[idx] = sum;
  }
}

class CustomAllreduce {
 public:
  std::unordered_map<void*, RankData*> buffers_;

  void allreduce(cudaStream_t stream, nv_bfloat16* output, int size) {
    cross_device_reduce_1stage<nv_bfloat16, 4><<<kMaxBlocks, 512, 0, stream>>>(nullptr, {}, nullptr, output, 0, size);
  }
};

}  // namespace engine
