// The shared library of fake_cuda.hpp: every function of iris::hip::cuda::Driver, over host memory.

#include "tests/runtime/fake_cuda.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/hip/api.hpp"
#include "runtime/hip/cuda_driver.hpp"

namespace {

using Address = unsigned long long;

constexpr int ok = 0;
constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int invalid_context = 201;
constexpr int not_found = 500;

/// A context is a pointer into this array, at its device.
char contexts[2];
bool initialized = false;
thread_local char* current = nullptr;

FakeCuda& state() {
  return *fake_cuda_state();
}

int device_of(const void* context) {
  return static_cast<int>(static_cast<const char*>(context) - contexts);
}

int with_context() {
  return current ? ok : invalid_context;
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): CUdeviceptr is an integer
}

/// Fresh memory is dirty, so that a test sees whether it was cleared.
void* dirty(std::size_t bytes) {
  ++state().live_allocations;
  return std::memset(std::malloc(bytes), 0xab, bytes);
}

int drop(void* memory) {
  std::free(memory);
  --state().live_allocations;
  return with_context();
}

/// What a call of virtual memory management gives; none of them is for a thread without a context.
int with_context(int result) {
  return result != ok ? result : with_context();
}

int make_handle(void** handle) {
  static char any;
  *handle = &any;
  return with_context();
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

FakeCuda* fake_cuda_state() {
  static FakeCuda instance;
  return &instance;
}

int cuInit(unsigned) {
  initialized = true;
  return ok;
}
int cuDriverGetVersion(int* version) {
  *version = state().version;
  return ok;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return initialized ? ok : not_initialized;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(bytes));
  return ok;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{141} << 30;
  return ok;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute == 16) *value = 132;
  if (attribute == 75) *value = state().major;
  if (attribute == 76) *value = state().minor;
  return attribute == 16 || attribute == 75 || attribute == 76 ? ok : invalid_value;
}
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return ok;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  ++state().retained_contexts;
  return ok;
}
int cuCtxSetCurrent(void* context) {
  current = static_cast<char*>(context);
  return ok;
}
int cuCtxEnablePeerAccess(void* peer_context, unsigned) {
  state().peer_of_last_enable = device_of(peer_context);
  return with_context();
}

int cuDeviceGetPCIBusId(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device + 1);
  return ok;
}

int cuMemGetAllocationGranularity(std::size_t* unit, const void*, int) {
  *unit = FakeVirtualMemory::unit;
  return with_context();
}
int cuMemCreate(unsigned long long* handle, std::size_t bytes, const void* properties, unsigned long long flags) {
  int made = -1;
  const auto& wanted = *static_cast<const iris::hip::AllocationProperties*>(properties);
  const int result = flags == 0 ? state().create(made, bytes, wanted) : invalid_value;
  *handle = static_cast<unsigned long long>(made);
  return with_context(result);
}
int cuMemRelease(unsigned long long handle) {
  return with_context(state().release(static_cast<int>(handle)));
}
int cuMemAddressReserve(Address* memory, std::size_t bytes, std::size_t, Address, unsigned long long) {
  void* reserved = nullptr;
  const int result = state().reserve(reserved, bytes);
  *memory = reinterpret_cast<Address>(reserved);
  return with_context(result);
}
int cuMemAddressFree(Address memory, std::size_t bytes) {
  return with_context(state().free_addresses(pointer(memory), bytes));
}
int cuMemMap(Address memory, std::size_t bytes, std::size_t offset, unsigned long long handle, unsigned long long) {
  return with_context(state().map(pointer(memory), bytes, offset, static_cast<int>(handle)));
}
int cuMemUnmap(Address memory, std::size_t bytes) {
  return with_context(state().unmap(pointer(memory), bytes));
}
int cuMemSetAccess(Address memory, std::size_t bytes, const void* access, std::size_t count) {
  if (count != 1) return invalid_value;
  return with_context(state().set_access(pointer(memory), bytes, static_cast<const int*>(access)[1]));
}
int cuMemExportToShareableHandle(void* file, unsigned long long handle, int type, unsigned long long flags) {
  if (type != 1 || flags != 0) return invalid_value;
  return with_context(state().export_file(*static_cast<int*>(file), static_cast<int>(handle)));
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* file, int type) {
  int imported = -1;
  const int number = static_cast<int>(reinterpret_cast<std::uintptr_t>(file));
  const int result = type == 1 ? state().import_file(imported, number) : invalid_value;
  *handle = static_cast<unsigned long long>(imported);
  return with_context(result);
}
int cuMemRetainAllocationHandle(unsigned long long* handle, void* memory) {
  int retained = -1;
  const int result = state().retain(retained, memory);
  *handle = static_cast<unsigned long long>(retained);
  return with_context(result);
}
/// Of virtual memory, the part that one handle is mapped to.
int cuMemGetAddressRange_v2(Address* begin, std::size_t* bytes, Address memory) {
  const auto plain = FakeVirtualMemory::range_with(state().allocated, pointer(memory));
  const auto mapping = FakeVirtualMemory::range_with(state().mapped, pointer(memory));
  if (plain != state().allocated.end()) {
    *begin = reinterpret_cast<Address>(plain->first);
    *bytes = plain->second;
  } else if (mapping != state().mapped.end()) {
    *begin = reinterpret_cast<Address>(mapping->first);
    *bytes = mapping->second->bytes;
  } else {
    return not_found;
  }
  return with_context();
}
int cuPointerGetAttribute(void* value, int attribute, Address memory) {
  if (attribute == 7) {
    const auto found = state().numbers.find(static_cast<char*>(pointer(memory)));
    if (found == state().numbers.end()) return invalid_value;
    *static_cast<unsigned long long*>(value) = found->second;
    return with_context();
  }
  *static_cast<void**>(value) = state().is_pools ? contexts : nullptr;
  return attribute == 17 ? with_context() : invalid_value;
}

/// The handle is the address: processes of this fake share no memory but virtual memory.
int cuIpcGetMemHandle(iris::hip::IpcHandle* handle, Address memory) {
  if (!state().allocated.contains(static_cast<char*>(pointer(memory)))) return invalid_value;
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return with_context();
}
int cuIpcOpenMemHandle_v2(Address* memory, iris::hip::IpcHandle handle, unsigned flags) {
  std::memcpy(memory, handle.reserved, sizeof *memory);
  ++state().opened_handles;
  ++state().open_handles;
  return flags == 1 ? with_context() : invalid_value;
}
int cuIpcCloseMemHandle(Address) {
  --state().open_handles;
  return with_context();
}

int cuMemAlloc_v2(Address* memory, std::size_t bytes) {
  char* const made = static_cast<char*>(dirty(bytes));
  state().allocated[made] = bytes;
  state().numbers[made] = ++state().allocations;
  *memory = reinterpret_cast<Address>(made);
  return with_context();
}
int cuMemFree_v2(Address memory) {
  state().allocated.erase(static_cast<char*>(pointer(memory)));
  return drop(pointer(memory));
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  if (flags != 3) return invalid_value;  // portable and mapped
  *memory = dirty(bytes);
  return with_context();
}
int cuMemFreeHost(void* memory) {
  return drop(memory);
}
int cuMemcpyAsync(Address destination, Address source, std::size_t bytes, void*) {
  std::memcpy(pointer(destination), pointer(source), bytes);
  return with_context();
}
int cuMemsetD8Async(Address destination, unsigned char value, std::size_t bytes, void*) {
  std::memset(pointer(destination), value, bytes);
  return with_context();
}

int cuStreamCreate(void** stream, unsigned) {
  return make_handle(stream);
}
int cuStreamDestroy_v2(void*) {
  return with_context();
}
int cuStreamSynchronize(void*) {
  return with_context();
}
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return stream && event && flags == 0 ? with_context() : invalid_value;
}
int cuEventCreate(void** event, unsigned) {
  return make_handle(event);
}
int cuEventRecord(void*, void*) {
  return with_context();
}
int cuEventSynchronize(void*) {
  return with_context();
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 2.5F;
  return with_context();
}
int cuEventDestroy_v2(void*) {
  return with_context();
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
  return stream && mode == 1 ? with_context() : invalid_value;
}
int cuStreamEndCapture(void*, void** graph) {
  return make_handle(graph);
}
int cuStreamIsCapturing(void* stream, int* status) {
  *status = 0;
  return stream ? with_context() : invalid_value;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return graph && flags == 0 ? make_handle(executable) : invalid_value;
}
int cuGraphLaunch(void* executable, void* stream) {
  return executable && stream ? with_context() : invalid_value;
}
int cuGraphExecDestroy(void*) {
  return with_context();
}
int cuGraphDestroy(void*) {
  return with_context();
}

int cuModuleLoadData(void** module, const void*) {
  return make_handle(module);
}
int cuModuleUnload(void*) {
  return with_context();
}
int cuModuleGetFunction(void** function, void*, const char*) {
  return make_handle(function);
}
int cuFuncLoad(void*) {
  ++state().loaded_functions;
  return with_context();
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  state().attribute = {attribute, value};
  return with_context();
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
  *blocks = 2;
  return with_context();
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* stream, void**,
                   void**) {
  state().device_of_last_launch = device_of(current);
  return stream ? with_context() : invalid_value;
}

int cuLaunchKernelEx(const iris::hip::cuda::LaunchConfig* config, void*, void**, void**) {
  ++state().dependent_launches;
  if (config->attribute_count != 1 || !config->stream) return invalid_value;
  state().dependent_launch = {.blocks = config->grid[0] * config->grid[1] * config->grid[2],
                              .threads = config->block[0] * config->block[1] * config->block[2],
                              .attribute = config->attributes[0].id,
                              .value = config->attributes[0].value.flag,
                              .stream = config->stream};
  return with_context();
}

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* data, const unsigned long long* lengths,
                           const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                           int interleave, int swizzle, int l2_promotion, int out_of_bounds) {
  ++state().tensor_maps;
  TensorMapCall& call = state().tensor_map;
  call = {.type = type,
          .rank = static_cast<int>(rank),
          .interleave = interleave,
          .swizzle = swizzle,
          .l2_promotion = l2_promotion,
          .out_of_bounds = out_of_bounds,
          .data = data,
          .lengths = {},
          .strides = {},
          .box = {},
          .steps = {}};
  std::memcpy(call.lengths, lengths, sizeof call.lengths);
  std::memcpy(call.strides, strides, sizeof call.strides);
  std::memcpy(call.box, box, sizeof call.box);
  std::memcpy(call.steps, steps, sizeof call.steps);
  std::memset(map, 0x77, 128);
  return reinterpret_cast<std::size_t>(data) % 16 == 0 ? ok : invalid_value;
}

int cuGetErrorName(int error, const char** name) {
  *name = error == invalid_context                    ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == FakeVirtualMemory::out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                      : nullptr;
  return *name ? ok : invalid_value;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == invalid_context                    ? "invalid device context"
          : error == FakeVirtualMemory::out_of_memory ? "out of memory"
                                                      : nullptr;
  return *text ? ok : invalid_value;
}
}
// NOLINTEND(readability-identifier-naming)
