// HIP's functions over CUDA's driver. Each does what HIP documents for its NVIDIA platform; where the driver's call has
// the same parameters, the adapter adds only the types.

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hip/api.hpp"
#include "runtime/hip/cuda_driver.hpp"
#include "runtime/hip/resolver.hpp"

namespace iris::hip {
namespace {

constexpr cuda::Result cuda_invalid_device = 101;

/// The driver and the devices' primary contexts, which the process shares with other users of CUDA in it (the runtime
/// library, PyTorch). They are retained on first use and kept until the process ends.
struct Session {
  cuda::Driver driver = {};
  std::mutex mutex;
  std::vector<void*> contexts;  ///< by device; null until retained
};

/// Set up once, by load_cuda(), before any adapter function can be called.
Session& session() {
  static Session instance;
  return instance;
}

const cuda::Driver& driver() {
  return session().driver;
}

cuda::Address address(const void* memory) {
  return reinterpret_cast<cuda::Address>(memory);
}

Error primary_context(int device, void** context) {
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  if (device < 0 || device >= static_cast<int>(now.contexts.size())) return cuda_invalid_device;
  void*& known = now.contexts[device];
  if (!known) {
    const Error error = driver().cuDevicePrimaryCtxRetain(&known, device);
    if (error != success) return error;
  }
  *context = known;
  return success;
}

Error set_device(int device) {
  void* context = nullptr;
  const Error error = primary_context(device, &context);
  return error != success ? error : driver().cuCtxSetCurrent(context);
}

Error device_get_attribute(int* value, Attribute attribute, int device) {
  static_assert(multiprocessor_count == 63, "hipDeviceAttributeMultiprocessorCount");
  if (attribute != multiprocessor_count) return 1;  // hipErrorInvalidValue: the only attribute that irisgen asks for
  return driver().cuDeviceGetAttribute(value, cuda::attribute_multiprocessor_count, device);
}

Error device_enable_peer_access(int peer, unsigned flags) {
  void* context = nullptr;
  const Error error = primary_context(peer, &context);
  return error != success ? error : driver().cuCtxEnablePeerAccess(context, flags);
}

/// CUDA has no coarse-grained memory: every allocation is coherent over NVLink at system scope, so the flags say
/// nothing.
Error malloc_with_flags(void** memory, std::size_t bytes, unsigned) {
  cuda::Address allocated = 0;
  const Error error = driver().cuMemAlloc_v2(&allocated, bytes);
  *memory = reinterpret_cast<void*>(allocated);  // NOLINT(performance-no-int-to-ptr): CUdeviceptr is an integer
  return error;
}

Error free_memory(void* memory) {
  return driver().cuMemFree_v2(address(memory));
}

/// Portable and mapped have CUDA's values; coherent is what CUDA's mapped memory is.
Error host_malloc(void** memory, std::size_t bytes, unsigned flags) {
  return driver().cuMemHostAlloc(memory, bytes, flags & (host_malloc_portable | host_malloc_mapped));
}

Error host_free(void* memory) {
  return driver().cuMemFreeHost(memory);
}

/// The driver tells host from device by the unified address, which is what hipMemcpyDefault means.
Error memcpy_async(void* destination, const void* source, std::size_t bytes, CopyKind, StreamHandle stream) {
  return driver().cuMemcpyAsync(address(destination), address(source), bytes, stream);
}

Error memset_async(void* destination, int value, std::size_t bytes, StreamHandle stream) {
  return driver().cuMemsetD8Async(address(destination), static_cast<unsigned char>(value), bytes, stream);
}

Error mem_get_allocation_granularity(std::size_t* unit, const AllocationProperties* properties, int option) {
  return driver().cuMemGetAllocationGranularity(unit, properties, option);
}

unsigned long long number(AllocationHandle handle) {
  return reinterpret_cast<unsigned long long>(handle);
}

Error mem_create(AllocationHandle* handle, std::size_t bytes, const AllocationProperties* properties,
                 unsigned long long flags) {
  unsigned long long made = 0;
  const Error error = driver().cuMemCreate(&made, bytes, properties, flags);
  *handle = reinterpret_cast<void*>(made);  // NOLINT(performance-no-int-to-ptr): CUDA's handles are integers
  return error;
}

Error mem_release(AllocationHandle handle) {
  return driver().cuMemRelease(number(handle));
}

Error mem_export(void* file, AllocationHandle handle, int handle_type, unsigned long long flags) {
  return driver().cuMemExportToShareableHandle(file, number(handle), handle_type, flags);
}

Error mem_import(AllocationHandle* handle, void* file, int handle_type) {
  unsigned long long imported = 0;
  const Error error = driver().cuMemImportFromShareableHandle(&imported, file, handle_type);
  *handle = reinterpret_cast<void*>(imported);  // NOLINT(performance-no-int-to-ptr): CUDA's handles are integers
  return error;
}

Error mem_retain(AllocationHandle* handle, void* memory) {
  unsigned long long retained = 0;
  const Error error = driver().cuMemRetainAllocationHandle(&retained, memory);
  *handle = reinterpret_cast<void*>(retained);  // NOLINT(performance-no-int-to-ptr): CUDA's handles are integers
  return error;
}

Error mem_get_address_range(void** begin, std::size_t* bytes, void* memory) {
  cuda::Address found = 0;
  const Error error = driver().cuMemGetAddressRange_v2(&found, bytes, address(memory));
  *begin = reinterpret_cast<void*>(found);  // NOLINT(performance-no-int-to-ptr): CUdeviceptr is an integer
  return error;
}

Error pointer_get_attribute(void* value, PointerAttribute attribute, void* memory) {
  return driver().cuPointerGetAttribute(value, attribute, address(memory));
}

Error ipc_get_handle(IpcHandle* handle, void* memory) {
  return driver().cuIpcGetMemHandle(handle, address(memory));
}

Error ipc_open(void** memory, IpcHandle handle, unsigned flags) {
  cuda::Address opened = 0;
  const Error error = driver().cuIpcOpenMemHandle_v2(&opened, handle, flags);
  *memory = reinterpret_cast<void*>(opened);  // NOLINT(performance-no-int-to-ptr): CUdeviceptr is an integer
  return error;
}

Error ipc_close(void* memory) {
  return driver().cuIpcCloseMemHandle(address(memory));
}

Error mem_address_reserve(void** memory, std::size_t bytes, std::size_t alignment, void* wanted,
                          unsigned long long flags) {
  cuda::Address reserved = 0;
  const Error error = driver().cuMemAddressReserve(&reserved, bytes, alignment, address(wanted), flags);
  *memory = reinterpret_cast<void*>(reserved);  // NOLINT(performance-no-int-to-ptr): CUdeviceptr is an integer
  return error;
}

Error mem_address_free(void* memory, std::size_t bytes) {
  return driver().cuMemAddressFree(address(memory), bytes);
}

Error mem_map(void* memory, std::size_t bytes, std::size_t offset, AllocationHandle handle, unsigned long long flags) {
  return driver().cuMemMap(address(memory), bytes, offset, number(handle), flags);
}

Error mem_unmap(void* memory, std::size_t bytes) {
  return driver().cuMemUnmap(address(memory), bytes);
}

Error mem_set_access(void* memory, std::size_t bytes, const AccessDescription* access, std::size_t count) {
  return driver().cuMemSetAccess(address(memory), bytes, access, count);
}

/// Loads the function's code at once. The driver otherwise does so at the first launch (CUDA_MODULE_LOADING is LAZY by
/// default), and that loading can wait for the device's running kernels: with several ranks on one device those may be
/// waiting for this very launch.
Error module_get_function(FunctionHandle* function, ModuleHandle module, const char* name) {
  const Error error = driver().cuModuleGetFunction(function, module, name);
  return error == success && driver().cuFuncLoad ? driver().cuFuncLoad(*function) : error;
}

Error leave_shared_memory(FunctionHandle function) {
  constexpr int percent = 100;
  return driver().cuFuncSetAttribute(function, cuda::preferred_shared_memory_carveout, percent);
}

Error launch_dependent(FunctionHandle function, unsigned blocks, unsigned threads, StreamHandle stream,
                       void** arguments) {
  cuda::LaunchAttribute attribute = {
      .id = cuda::launch_programmatic_stream_serialization, .padding = 0, .value = {.bytes = {}}};
  attribute.value.flag = 1;
  const cuda::LaunchConfig config = {.grid = {blocks, 1, 1},
                                     .block = {threads, 1, 1},
                                     .shared_bytes = 0,
                                     .stream = stream,
                                     .attributes = &attribute,
                                     .attribute_count = 1};
  return driver().cuLaunchKernelEx(&config, function, arguments, nullptr);
}

/// Out of bounds reads zeros. Elements of 4 bytes are f32, which copies round to tf32, to nearest even. Rows that begin
/// within lines of 128 bytes are fetched by these: measured on an H100, more at once takes up to a fifth longer.
Error encode_tensor_map(void* map, const void* data, unsigned element_bytes, const unsigned long long (&lengths)[2],
                        const unsigned (&box)[2]) {
  constexpr unsigned steps[2] = {1, 1};
  const unsigned long long row_bytes = lengths[0] * element_bytes;
  const int type = element_bytes == 1   ? cuda::tensor_map_uint8
                   : element_bytes == 2 ? cuda::tensor_map_uint16
                                        : cuda::tensor_map_tfloat32;
  const int promotion = row_bytes % 128 == 0 ? cuda::tensor_map_l2_promotion_256b : cuda::tensor_map_l2_promotion_128b;
  return driver().cuTensorMapEncodeTiled(map, type, 2, const_cast<void*>(data), lengths, &row_bytes, box, steps, 0,
                                         cuda::tensor_map_swizzle_128b, promotion, 0);
}

Error graph_instantiate(GraphHandle* executable, GraphHandle graph, void** /*failed_node*/, char* /*log*/,
                        std::size_t /*log_bytes*/) {
  return driver().cuGraphInstantiateWithFlags(executable, graph, 0);
}

const char* error_name(Error error) {
  const char* name = nullptr;
  return driver().cuGetErrorName(error, &name) == success && name ? name : "unknown error";
}

const char* error_string(Error error) {
  const char* text = nullptr;
  return driver().cuGetErrorString(error, &text) == success && text ? text : "unknown error";
}

Functions adapted(const cuda::Driver& driver) {
  return {
      .hipRuntimeGetVersion = driver.cuDriverGetVersion,
      .hipGetDeviceCount = driver.cuDeviceGetCount,
      .hipSetDevice = set_device,
      .hipDeviceGetName = driver.cuDeviceGetName,
      .hipDeviceGetPCIBusId = driver.cuDeviceGetPCIBusId,
      .hipDeviceTotalMem = driver.cuDeviceTotalMem_v2,
      .hipDeviceGetAttribute = device_get_attribute,
      .hipDeviceCanAccessPeer = driver.cuDeviceCanAccessPeer,
      .hipDeviceEnablePeerAccess = device_enable_peer_access,
      .hipExtMallocWithFlags = malloc_with_flags,
      .hipFree = free_memory,
      .hipHostMalloc = host_malloc,
      .hipHostFree = host_free,
      .hipMemcpyAsync = memcpy_async,
      .hipMemsetAsync = memset_async,
      .hipMemGetAllocationGranularity = mem_get_allocation_granularity,
      .hipMemCreate = mem_create,
      .hipMemRelease = mem_release,
      .hipMemAddressReserve = mem_address_reserve,
      .hipMemAddressFree = mem_address_free,
      .hipMemMap = mem_map,
      .hipMemUnmap = mem_unmap,
      .hipMemSetAccess = mem_set_access,
      .hipMemExportToShareableHandle = mem_export,
      .hipMemImportFromShareableHandle = mem_import,
      .hipIpcGetMemHandle = ipc_get_handle,
      .hipIpcOpenMemHandle = ipc_open,
      .hipIpcCloseMemHandle = ipc_close,
      .hipMemGetAddressRange = mem_get_address_range,
      .hipMemRetainAllocationHandle = mem_retain,
      .hipPointerGetAttribute = pointer_get_attribute,
      .hipStreamCreateWithFlags = driver.cuStreamCreate,
      .hipStreamDestroy = driver.cuStreamDestroy_v2,
      .hipStreamSynchronize = driver.cuStreamSynchronize,
      .hipStreamWaitEvent = driver.cuStreamWaitEvent,
      .hipEventCreateWithFlags = driver.cuEventCreate,
      .hipEventRecord = driver.cuEventRecord,
      .hipEventSynchronize = driver.cuEventSynchronize,
      .hipEventElapsedTime = driver.cuEventElapsedTime,
      .hipEventDestroy = driver.cuEventDestroy_v2,
      .hipStreamBeginCapture = driver.cuStreamBeginCapture_v2,
      .hipStreamEndCapture = driver.cuStreamEndCapture,
      .hipStreamIsCapturing = driver.cuStreamIsCapturing,
      .hipGraphInstantiate = graph_instantiate,
      .hipGraphLaunch = driver.cuGraphLaunch,
      .hipGraphExecDestroy = driver.cuGraphExecDestroy,
      .hipGraphDestroy = driver.cuGraphDestroy,
      .hipModuleLoadData = driver.cuModuleLoadData,
      .hipModuleUnload = driver.cuModuleUnload,
      .hipModuleGetFunction = module_get_function,
      .hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor,
      .hipModuleLaunchKernel = driver.cuLaunchKernel,
      .hipGetErrorName = error_name,
      .hipGetErrorString = error_string,
  };
}

/// irisgen compiles Hopper for its own instructions (the `a` of sm_90a); other chips by their plain name.
std::string architecture_from_capability(const Api&, int device) {
  int major = 0;
  int minor = 0;
  if (driver().cuDeviceGetAttribute(&major, cuda::attribute_compute_capability_major, device) != success ||
      driver().cuDeviceGetAttribute(&minor, cuda::attribute_compute_capability_minor, device) != success)
    return {};
  const std::string name = "sm_" + std::to_string(major) + std::to_string(minor);
  return name == "sm_90" ? "sm_90a" : name;
}

/// 13010 of CUDA 13.1, major · 1000 + minor · 10; 0 if the driver does not tell.
int cuda_version(const cuda::Driver& driver) {
  int version = 0;
  return driver.cuDriverGetVersion(&version) == success ? version : 0;
}

std::string version_text(int version) {
  if (version == 0) return "?";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

LoadedApi load_cuda(const std::string& path) {
  const std::vector<std::string> names = {path.empty() ? "libcuda.so.1" : path};
  return load_library(names, "install NVIDIA's driver", [](Resolver& library, Api& api) {
    Session& now = session();
    const std::lock_guard lock(now.mutex);
    cuda::resolve(library, now.driver);
    library.throw_if_missing("install a newer NVIDIA driver");

    int devices = 0;
    Error error = now.driver.cuInit(0);
    if (error == success) error = now.driver.cuDeviceGetCount(&devices);
    if (error != success || devices == 0)
      throw std::runtime_error(library.name() + " reports no device (" + error_string(error) +
                               "); the nvidia kernel driver must be loaded");
    now.contexts.assign(static_cast<std::size_t>(devices), nullptr);
    api.call = adapted(now.driver);
    const int version = cuda_version(now.driver);
    api.description = "CUDA " + version_text(version) + " (" + library.name() + ")";
    api.devices = devices;
    api.architecture = architecture_from_capability;
    api.shareable_memory = memory_pinned;  // CUDA has no memory in which GPUs do not see one another's stores
    api.leave_shared_memory = leave_shared_memory;
    if (now.driver.cuTensorMapEncodeTiled) api.encode_tensor_map = encode_tensor_map;  // since CUDA 12
    if (now.driver.cuLaunchKernelEx && version >= cuda::version_of_dependent_launches)
      api.launch_dependent = launch_dependent;
  });
}

}  // namespace iris::hip
