#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/fake_virtual_memory.hpp"

/// A libamdhip64 for tests: devices of host memory, which processes can share, and kernels that only note their
/// launches, or sum as many f32 over ranks as FAKE_HIP_SUMS in the environment says. Events of device d are 1.5·(1 + d)
/// ms apart. It is of HIP 6.2, which has no uncached virtual memory, or of what FAKE_HIP_VERSION in the environment
/// says as hipRuntimeGetVersion counts. The test opens the same shared library and reaches its state through
/// `fake_hip_state`.
struct FakeHip : FakeVirtualMemory {
  int devices = 2;
  bool peers_can_access = true;
  bool peers_already_enabled = false;
  /// Of each device; gcnArchName at this offset of the properties, after a name that fills `name`.
  std::vector<std::string> architectures = {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"};
  std::size_t architecture_offset = 396;
  int launch_error = 0;
  int blocks_per_unit = 4;

  struct Launch {
    int device;
    void* stream;
    unsigned blocks;
    unsigned threads;
    int first_argument;
  };
  std::vector<Launch> launches;
  std::vector<std::pair<int, int>> enabled_peers;  ///< (device, peer), in the order of the calls
  int copies = 0;
  int fills = 0;
  std::vector<void*> synchronized;  ///< streams, in the order of the calls
  int live_allocations = 0;
  int open_handles = 0;  ///< of other processes' memory
  int live_streams = 0;
  std::vector<unsigned> stream_flags;  ///< of those that were created
  int live_modules = 0;
  int live_events = 0;
  int live_graphs = 0;
  std::vector<std::pair<void*, void*>> records;         ///< (event, stream)
  std::vector<std::pair<void*, void*>> waits;           ///< (stream, event)
  std::vector<void*> captures;                          ///< streams in which one began
  std::set<void*> capturing;                            ///< those in which one has not ended
  std::vector<std::pair<void*, void*>> graph_launches;  ///< (graph, stream)
};

extern "C" FakeHip* fake_hip_state();
