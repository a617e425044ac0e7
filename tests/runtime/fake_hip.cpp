// The shared library of fake_hip.hpp: every function of iris::hip::Functions, over host memory.

#include "tests/runtime/fake_hip.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/hip/api.hpp"

namespace {

constexpr int ok = 0;
constexpr int invalid_device = 101;
constexpr int not_found = 500;

thread_local int current_device = 0;

FakeHip& state() {
  return *fake_hip_state();
}

bool is_device(int device) {
  return device >= 0 && device < state().devices;
}

/// Fresh memory is dirty, so that a test sees whether it was cleared.
int make_dirty(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xab, bytes);
  ++state().live_allocations;
  state().allocated[static_cast<char*>(*memory)] = bytes;
  return ok;
}

int make_handle(void** handle, int& live) {
  *handle = std::malloc(1);
  ++live;
  return ok;
}

int drop_handle(void* handle, int& live) {
  std::free(handle);
  --live;
  return ok;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are HIP's
extern "C" {

FakeHip* fake_hip_state() {
  static FakeHip instance;
  return &instance;
}

int hipRuntimeGetVersion(int* version) {
  *version = 60'240'000;
  return ok;
}
int hipGetDeviceCount(int* count) {
  *count = state().devices;
  return *count ? ok : 100;
}
int hipSetDevice(int device) {
  if (!is_device(device)) return invalid_device;
  current_device = device;
  return ok;
}
int hipDeviceGetName(char* name, int bytes, int device) {
  if (!is_device(device)) return invalid_device;
  std::strncpy(name, "Fake Instinct", static_cast<std::size_t>(bytes));
  return ok;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = std::size_t{64} << 30;
  return ok;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute != 63) return 1;
  *value = 104;
  return ok;
}
int hipDeviceCanAccessPeer(int* can, int, int) {
  *can = state().peers_can_access ? 1 : 0;
  return ok;
}
int hipDeviceEnablePeerAccess(int peer, unsigned) {
  if (state().peers_already_enabled) return 704;
  state().enabled_peers.emplace_back(current_device, peer);
  return ok;
}
int hipGetDeviceProperties(void* properties, int device) {
  if (!is_device(device)) return invalid_device;
  auto* const bytes = static_cast<char*>(properties);
  std::strcpy(bytes, "AMD Instinct with gfx in its name");
  std::strcpy(bytes + state().architecture_offset, state().architectures[static_cast<std::size_t>(device)].c_str());
  return ok;
}

int hipDeviceGetPCIBusId(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device + 1);
  return is_device(device) ? ok : invalid_device;
}

/// The handle is the address: processes of this fake share no memory.
int hipIpcGetMemHandle(iris::hip::IpcHandle* handle, void* memory) {
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return ok;
}
int hipIpcOpenMemHandle(void** memory, iris::hip::IpcHandle handle, unsigned flags) {
  std::memcpy(memory, handle.reserved, sizeof *memory);
  ++state().open_handles;
  return flags == 1 ? ok : 1;
}
int hipIpcCloseMemHandle(void*) {
  --state().open_handles;
  return ok;
}

int hipMemGetAddressRange(void** begin, std::size_t* bytes, void* memory) {
  for (const auto& [first, length] : state().allocated) {
    if (static_cast<char*>(memory) < first || static_cast<char*>(memory) >= first + length) continue;
    *begin = first;
    *bytes = length;
    return ok;
  }
  return not_found;
}

int hipExtMallocWithFlags(void** memory, std::size_t bytes, unsigned) {
  return make_dirty(memory, bytes);
}
int hipFree(void* memory) {
  state().allocated.erase(static_cast<char*>(memory));
  return drop_handle(memory, state().live_allocations);
}
int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return make_dirty(memory, bytes);
}
int hipHostFree(void* memory) {
  state().allocated.erase(static_cast<char*>(memory));
  return drop_handle(memory, state().live_allocations);
}
int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int, void*) {
  ++state().copies;
  std::memcpy(destination, source, bytes);
  return ok;
}
int hipMemsetAsync(void* destination, int value, std::size_t bytes, void*) {
  std::memset(destination, value, bytes);
  return ok;
}

int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  return flags == 1 ? make_handle(stream, state().live_streams) : 1;
}
int hipStreamDestroy(void* stream) {
  return drop_handle(stream, state().live_streams);
}
int hipStreamSynchronize(void* stream) {
  state().synchronized.push_back(stream);
  return ok;
}
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  if (flags != 0) return 1;
  state().waits.emplace_back(stream, event);
  return ok;
}
int hipEventCreateWithFlags(void** event, unsigned) {
  return make_handle(event, state().live_events);
}
int hipEventRecord(void* event, void* stream) {
  state().records.emplace_back(event, stream);
  return ok;
}
int hipEventSynchronize(void*) {
  return ok;
}
int hipEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.5F;
  return ok;
}
int hipEventDestroy(void* event) {
  return drop_handle(event, state().live_events);
}

int hipStreamBeginCapture(void* stream, int mode) {
  if (mode != 1) return 1;
  state().captures.push_back(stream);
  state().capturing.insert(stream);
  return ok;
}
int hipStreamEndCapture(void* stream, void** graph) {
  if (state().capturing.erase(stream) == 0) return 1;
  return make_handle(graph, state().live_graphs);
}
int hipStreamIsCapturing(void* stream, int* status) {
  *status = state().capturing.contains(stream) ? 1 : 0;
  return ok;
}
int hipGraphInstantiate(void** executable, void* graph, void**, char*, std::size_t) {
  return graph ? make_handle(executable, state().live_graphs) : 1;
}
int hipGraphLaunch(void* executable, void* stream) {
  state().graph_launches.emplace_back(executable, stream);
  return ok;
}
int hipGraphExecDestroy(void* executable) {
  return drop_handle(executable, state().live_graphs);
}
int hipGraphDestroy(void* graph) {
  return drop_handle(graph, state().live_graphs);
}

int hipModuleLoadData(void** module, const void*) {
  return make_handle(module, state().live_modules);
}
int hipModuleUnload(void* module) {
  return drop_handle(module, state().live_modules);
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (std::strcmp(name, "known") != 0) return not_found;
  *function = module;
  return ok;
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
  *blocks = state().blocks_per_unit;
  return ok;
}
int hipModuleLaunchKernel(void*, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned, unsigned, unsigned,
                          void* stream, void** arguments, void**) {
  if (state().launch_error) return state().launch_error;
  state().launches.push_back({current_device, stream, grid_x, block_x, *static_cast<int*>(arguments[0])});
  return ok;
}

const char* hipGetErrorName(int error) {
  return error == 719 ? "hipErrorLaunchFailure" : "hipErrorOther";
}
const char* hipGetErrorString(int error) {
  return error == 719 ? "unspecified launch failure" : "other";
}
}
// NOLINTEND(readability-identifier-naming)
