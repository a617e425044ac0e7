#include "common/flags.cuh"

__device__ inline unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__global__ void wait_and_copy(const uint4* theirs, uint4* mine, const unsigned* ready, int n) {
  if (threadIdx.x == 0) {
    do {
    } while (load_acquire(ready) == 0);
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
  __syncthreads();
  const int i = blockIdx.y * gridDim.x + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mine[i] = __ldg(theirs + i);
  undefined_helper(mine[i].x);
}
