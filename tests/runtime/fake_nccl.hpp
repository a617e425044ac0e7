#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// A libnccl for tests, which notes what it is asked for. The test opens the same shared library and reaches its state
/// through `fake_nccl_state`.
struct FakeNccl {
  struct Call {
    std::string name;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t count = 0;
    int type = -1;
    int op_or_peer = -1;
    void* communicator = nullptr;
    void* stream = nullptr;
  };
  std::vector<Call> calls;
  std::string id = "an id";  ///< that ranks are given
  int refuse_rank = -1;      ///< whose communicator cannot be made
  bool refuse_windows = false;
  int live_communicators = 0;
  int live_memory = 0;
  int live_windows = 0;
};

extern "C" FakeNccl* fake_nccl_state();
