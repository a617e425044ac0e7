// The shared library of fake_hip.hpp: every function of iris::hip::Functions, over host memory.

#include "tests/runtime/fake_hip.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "iris/device/abi.hpp"
#include "runtime/hip/api.hpp"
#include "tests/runtime/fake_shared_memory.hpp"

namespace {

constexpr int ok = 0;
constexpr int invalid_value = 1;
constexpr int invalid_device = 101;
constexpr int not_found = 500;

thread_local int current_device = 0;

FakeHip& state() {
  return *fake_hip_state();
}

bool is_device(int device) {
  return device >= 0 && device < state().devices;
}

/// Of the state and of memory: ranks that are threads call at once.
std::mutex mutex;

/// Fresh memory is dirty, so that a test sees whether it was cleared.
int make_dirty(void** memory, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xab, bytes);
  ++state().live_allocations;
  return ok;
}

/// Handles and files are numbers, which HIP passes as pointers.
int number(void* handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
}
void* pointer(int number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));  // NOLINT(performance-no-int-to-ptr): as above
}

int make_handle(void** handle, int& live) {
  const std::lock_guard lock(mutex);
  *handle = std::malloc(1);
  ++live;
  return ok;
}

int drop_handle(void* handle, int& live) {
  const std::lock_guard lock(mutex);
  std::free(handle);
  --live;
  return ok;
}

FakeSharedMemory memory;

/// As if every kernel were an all_reduce of so many f32, of buffers that all ranks have filled before they launch.
void sum_over_ranks(const iris::device::Context& context, const char* input, char* output, std::size_t count) {
  char* const base = context.bases[0][context.rank];
  if (!memory.holds(base, input, count * sizeof(float)) || !memory.holds(base, output, count * sizeof(float))) return;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int rank = 0; rank < context.world; ++rank) {
      sum += reinterpret_cast<const float*>(input - base + context.bases[0][rank])[i];
    }
    reinterpret_cast<float*>(output)[i] = sum;
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are HIP's
extern "C" {

FakeHip* fake_hip_state() {
  static FakeHip instance;
  return &instance;
}

int hipRuntimeGetVersion(int* version) {
  const char* wanted = std::getenv("FAKE_HIP_VERSION");
  *version = wanted != nullptr ? std::stoi(wanted) : 60'240'000;
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
  const std::lock_guard lock(mutex);
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

int hipIpcGetMemHandle(iris::hip::IpcHandle* handle, void* begin) {
  const std::lock_guard lock(mutex);
  const FakeSharedMemory::Handle shared = memory.handle_of(begin);
  static_assert(sizeof shared <= sizeof handle->reserved);
  std::memcpy(handle->reserved, &shared, sizeof shared);
  return ok;
}
int hipIpcOpenMemHandle(void** begin, iris::hip::IpcHandle handle, unsigned flags) {
  const std::lock_guard lock(mutex);
  if (!state().may_be_imported) return 1;
  FakeSharedMemory::Handle shared{};
  std::memcpy(&shared, handle.reserved, sizeof shared);
  *begin = memory.open(shared);
  if (*begin == nullptr) return 1;
  ++state().open_handles;
  return flags == 1 ? ok : 1;
}
int hipIpcCloseMemHandle(void* begin) {
  const std::lock_guard lock(mutex);
  memory.close(begin);
  --state().open_handles;
  return ok;
}

int hipMemGetAddressRange(void** begin, std::size_t* bytes, void* data) {
  const std::lock_guard lock(mutex);
  return memory.find(data, *begin, *bytes) ? ok : not_found;
}

int hipMemGetAllocationGranularity(std::size_t* unit, const iris::hip::AllocationProperties*, int) {
  *unit = FakeVirtualMemory::unit;
  return ok;
}
int hipMemCreate(void** handle, std::size_t bytes, const iris::hip::AllocationProperties* properties,
                 unsigned long long flags) {
  const std::lock_guard lock(mutex);
  int made = 0;
  const int result = flags == 0 ? state().create(made, bytes, *properties) : invalid_value;
  *handle = pointer(made);
  return result;
}
int hipMemRelease(void* handle) {
  const std::lock_guard lock(mutex);
  return state().release(number(handle));
}
int hipMemAddressReserve(void** memory, std::size_t bytes, std::size_t, void*, unsigned long long) {
  const std::lock_guard lock(mutex);
  return state().reserve(*memory, bytes);
}
int hipMemAddressFree(void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  return state().free_addresses(memory, bytes);
}
int hipMemMap(void* memory, std::size_t bytes, std::size_t offset, void* handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  return state().map(memory, bytes, offset, number(handle));
}
int hipMemUnmap(void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  return state().unmap(memory, bytes);
}
/// As ROCm 7.2's, which counts from a reservation's begin.
int hipMemSetAccess(void* memory, std::size_t bytes, const iris::hip::AccessDescription* access, std::size_t count) {
  const std::lock_guard lock(mutex);
  const bool is_counted = count == 1 && state().reserved.contains(static_cast<char*>(memory));
  return is_counted ? state().set_access(memory, bytes, access->location.device) : invalid_value;
}
int hipMemExportToShareableHandle(void* file, void* handle, int, unsigned long long) {
  const std::lock_guard lock(mutex);
  return state().export_file(*static_cast<int*>(file), number(handle));
}
int hipMemImportFromShareableHandle(void** handle, void* file, int) {
  const std::lock_guard lock(mutex);
  int imported = 0;
  const int result = state().import_file(imported, number(file));
  *handle = pointer(imported);
  return result;
}

int hipExtMallocWithFlags(void** begin, std::size_t bytes, unsigned) {
  const std::lock_guard lock(mutex);
  *begin = memory.allocate(bytes);
  if (*begin == nullptr) return 2;
  ++state().live_allocations;
  return ok;
}
int hipFree(void* begin) {
  const std::lock_guard lock(mutex);
  memory.release(begin);
  --state().live_allocations;
  return ok;
}
int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return make_dirty(memory, bytes);
}
int hipHostFree(void* memory) {
  return drop_handle(memory, state().live_allocations);
}
int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int, void*) {
  const std::lock_guard lock(mutex);
  ++state().copies;
  std::memcpy(destination, source, bytes);
  return ok;
}
int hipMemsetAsync(void* destination, int value, std::size_t bytes, void*) {
  const std::lock_guard lock(mutex);
  ++state().fills;
  std::memset(destination, value, bytes);
  return ok;
}

int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  if (flags > 1) return 1;
  state().stream_flags.push_back(flags);
  return make_handle(stream, state().live_streams);
}
int hipStreamDestroy(void* stream) {
  return drop_handle(stream, state().live_streams);
}
int hipStreamSynchronize(void* stream) {
  const std::lock_guard lock(mutex);
  state().synchronized.push_back(stream);
  return ok;
}
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  if (flags != 0) return 1;
  const std::lock_guard lock(mutex);
  state().waits.emplace_back(stream, event);
  return ok;
}
int hipEventCreateWithFlags(void** event, unsigned) {
  return make_handle(event, state().live_events);
}
int hipEventRecord(void* event, void* stream) {
  const std::lock_guard lock(mutex);
  state().records.emplace_back(event, stream);
  return ok;
}
int hipEventSynchronize(void*) {
  return ok;
}
int hipEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.5F * static_cast<float>(1 + current_device);
  return ok;
}
int hipEventDestroy(void* event) {
  return drop_handle(event, state().live_events);
}

int hipStreamBeginCapture(void* stream, int mode) {
  if (mode != 1) return 1;
  const std::lock_guard lock(mutex);
  state().captures.push_back(stream);
  state().capturing.insert(stream);
  return ok;
}
int hipStreamEndCapture(void* stream, void** graph) {
  {
    const std::lock_guard lock(mutex);
    if (state().capturing.erase(stream) == 0) return 1;
  }
  return make_handle(graph, state().live_graphs);
}
int hipStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard lock(mutex);
  *status = state().capturing.contains(stream) ? 1 : 0;
  return ok;
}
int hipGraphInstantiate(void** executable, void* graph, void**, char*, std::size_t) {
  return graph ? make_handle(executable, state().live_graphs) : 1;
}
int hipGraphLaunch(void* executable, void* stream) {
  const std::lock_guard lock(mutex);
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
  if (std::strcmp(name, "unknown") == 0) return not_found;
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
  const std::lock_guard lock(mutex);
  state().launches.push_back({current_device, stream, grid_x, block_x, *static_cast<int*>(arguments[0])});
  if (const char* count = std::getenv("FAKE_HIP_SUMS")) {
    sum_over_ranks(*static_cast<iris::device::Context*>(arguments[0]), *static_cast<char**>(arguments[1]),
                   *static_cast<char**>(arguments[2]), std::stoul(count));
  }
  return ok;
}

const char* hipGetErrorName(int error) {
  if (error == FakeVirtualMemory::out_of_memory) return "hipErrorOutOfMemory";
  return error == 719 ? "hipErrorLaunchFailure" : "hipErrorOther";
}
const char* hipGetErrorString(int error) {
  return error == 719 ? "unspecified launch failure" : "other";
}
}
// NOLINTEND(readability-identifier-naming)
