#include "fake_nccl.hpp"

#include <cstdlib>

#include "runtime/verify/nccl_unique_id.hpp"

using iris::NcclUniqueId;

namespace {

FakeNccl& state() {
  return *fake_nccl_state();
}

int note(FakeNccl::Call call) {
  state().calls.push_back(std::move(call));
  return 0;
}

constexpr int invalid_argument = 4;

}  // namespace

extern "C" {

FakeNccl* fake_nccl_state() {
  static FakeNccl state;
  return &state;
}

int ncclGetVersion(int* version) {
  *version = 22803;
  return 0;
}
int ncclGetUniqueId(NcclUniqueId* id) {
  id->bytes[state().id.copy(id->bytes, sizeof id->bytes - 1)] = '\0';
  return 0;
}
const char* ncclGetErrorString(int result) {
  return result == invalid_argument ? "invalid argument" : "unknown";
}
int ncclCommInitRank(void** communicator, int world, NcclUniqueId id, int rank) {
  if (state().id != id.bytes || rank == state().refuse_rank) return invalid_argument;
  *communicator = reinterpret_cast<void*>(static_cast<std::size_t>(100 * world + rank));
  ++state().live_communicators;
  return 0;
}
int ncclCommDestroy(void*) {
  --state().live_communicators;
  return 0;
}
int ncclGroupStart() {
  return note({.name = "start"});
}
int ncclGroupEnd() {
  return note({.name = "end"});
}
int ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, void* communicator, void* stream) {
  return note({"all_reduce", in, out, count, type, op, communicator, stream});
}
int ncclAllGather(const void* in, void* out, std::size_t count, int type, void* communicator, void* stream) {
  return note({"all_gather", in, out, count, type, -1, communicator, stream});
}
int ncclReduceScatter(const void* in, void* out, std::size_t count, int type, int op, void* communicator,
                      void* stream) {
  return note({"reduce_scatter", in, out, count, type, op, communicator, stream});
}
int ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, void* communicator, void* stream) {
  return note({"broadcast", in, out, count, type, root, communicator, stream});
}
int ncclSend(const void* in, std::size_t count, int type, int peer, void* communicator, void* stream) {
  return note({"send", in, nullptr, count, type, peer, communicator, stream});
}
int ncclRecv(void* out, std::size_t count, int type, int peer, void* communicator, void* stream) {
  return note({"receive", nullptr, out, count, type, peer, communicator, stream});
}
int ncclMemAlloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  ++state().live_memory;
  return 0;
}
int ncclMemFree(void* memory) {
  std::free(memory);
  --state().live_memory;
  return 0;
}
int ncclCommWindowRegister(void*, void* memory, std::size_t, void** window, int flags) {
  if (state().refuse_windows || flags != 1) return invalid_argument;
  *window = memory;
  ++state().live_windows;
  return 0;
}
int ncclCommWindowDeregister(void*, void*) {
  --state().live_windows;
  return 0;
}

}  // extern "C"
