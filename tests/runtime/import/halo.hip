#include <hip/hip_runtime.h>

#include <vector>

// Gives the rows at the edges to both neighbours.
__global__ void exchange(double* field, double* upper, double* lower, int m, int n) {
  __shared__ double row[256];
  for (int column = hipThreadIdx_x; column < n; column += 256) {
    row[column % 256] = field[column];
    __syncthreads();
    if (upper) upper[(m + 1) * n + column] = row[column % 256];
    if (lower) lower[column] = field[m * n + column];
  }
  __threadfence_system();
}

void step(double* field, double* upper, double* lower, int m, int n, hipStream_t stream) {
  std::vector<int> sizes = {m, n};
  const dim3 blocks(4, 2);
  hipLaunchKernelGGL(exchange, blocks, dim3(256), 0, stream, field, upper, lower, sizes[0], sizes[1]);
}
