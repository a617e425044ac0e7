#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void iterate(float* now, float* next, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  for (int step = 0; step < steps; ++step) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) next[i] = 0.5f * now[i];
    block.sync();
    grid.sync();
    float* done = now;
    now = next;
    next = done;
  }
}

void launch(float* now, float* next, void** arguments) {
  cudaLaunchCooperativeKernel((void*)iterate, dim3(108), dim3(256), arguments);
}
