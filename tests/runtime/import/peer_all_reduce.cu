// A one-shot all-reduce over pointers that the host has opened.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void all_reduce(float** peers, volatile int** flags, float* out, int rank, int world, int epoch, int n) {
  if (threadIdx.x == 0) {
    __threadfence_system();
    for (int peer = 0; peer < world; ++peer) flags[peer][rank * gridDim.x + blockIdx.x] = epoch;
    for (int peer = 0; peer < world; ++peer) {
      while (flags[rank][peer * gridDim.x + blockIdx.x] < epoch) {
      }
    }
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += peers[peer][i];
    out[i] = sum;
  }
}

int main() {
  std::printf("starting\n");
  all_reduce<<<32, 256>>>(nullptr, nullptr, nullptr, 0, 8, 1, 1024);
  return cudaDeviceSynchronize();
}
