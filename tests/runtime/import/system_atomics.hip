#include <hip/hip_runtime.h>

// Counts in the memory of the rank that owns a bin, and waits for all.
__global__ void histogram(const int* values, int* const* counts, unsigned* arrived, int n, int nranks) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd_system(counts[values[i] % nranks] + values[i] / nranks, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < gridDim.x * nranks)
      __builtin_amdgcn_s_sleep(1);
  }
  const int sum = __shfl_down(values[0], 1);
  printf("%d\n", sum);
}
