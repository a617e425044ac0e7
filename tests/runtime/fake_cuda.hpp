#pragma once

#include <cstddef>
#include <map>

#include "tests/runtime/fake_virtual_memory.hpp"

/// What cuTensorMapEncodeTiled was given.
struct TensorMapCall {
  int type, rank, interleave, swizzle, l2_promotion, out_of_bounds;
  const void* data;
  unsigned long long lengths[2], strides[1];
  unsigned box[2], steps[2];
};

/// What cuLaunchKernelEx was given, with its only attribute.
struct LaunchCall {
  unsigned blocks, threads;
  int attribute, value;
  void* stream;
};

/// A libcuda for tests: two devices of host memory. Like the driver, it refuses calls of a thread that has no current
/// context. The test reaches its state through `fake_cuda_state`.
struct FakeCuda : FakeVirtualMemory {
  int major = 9;
  int minor = 0;
  int retained_contexts = 0;
  int live_allocations = 0;
  bool is_pools = false;                        ///< memory is what cudaMallocAsync gives
  std::map<char*, std::size_t> allocated;       ///< by cuMemAlloc
  unsigned long long allocations = 0;           ///< by cuMemAlloc, ever
  std::map<char*, unsigned long long> numbers;  ///< of the last that began there
  int opened_handles = 0;                       ///< by cuIpcOpenMemHandle, ever
  int open_handles = 0;                         ///< of those, not closed
  int loaded_functions = 0;                     ///< by cuFuncLoad
  std::pair<int, int> attribute = {};           ///< the last of a function, and its value
  int peer_of_last_enable = -1;
  int device_of_last_launch = -1;
  int version = 13010;               ///< of the driver
  LaunchCall dependent_launch = {};  ///< the last
  int dependent_launches = 0;
  TensorMapCall tensor_map = {};  ///< the last
  int tensor_maps = 0;
};

extern "C" FakeCuda* fake_cuda_state();
