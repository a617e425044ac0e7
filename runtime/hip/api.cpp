#include "runtime/hip/api.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "runtime/hip/resolver.hpp"

namespace iris::hip {
namespace {

constexpr const char* hip_remedy = "install ROCm's libamdhip64 (Debian: apt-get install libamdhip64-5)";

void resolve_functions(Resolver& library, Functions& call) {
  library.resolve(call.hipRuntimeGetVersion, "hipRuntimeGetVersion");
  library.resolve(call.hipGetDeviceCount, "hipGetDeviceCount");
  library.resolve(call.hipSetDevice, "hipSetDevice");
  library.resolve(call.hipDeviceGetName, "hipDeviceGetName");
  library.resolve(call.hipDeviceGetPCIBusId, "hipDeviceGetPCIBusId");
  library.resolve(call.hipDeviceTotalMem, "hipDeviceTotalMem");
  library.resolve(call.hipDeviceGetAttribute, "hipDeviceGetAttribute");
  library.resolve(call.hipDeviceCanAccessPeer, "hipDeviceCanAccessPeer");
  library.resolve(call.hipDeviceEnablePeerAccess, "hipDeviceEnablePeerAccess");
  library.resolve(call.hipExtMallocWithFlags, "hipExtMallocWithFlags");
  library.resolve(call.hipFree, "hipFree");
  library.resolve(call.hipHostMalloc, "hipHostMalloc");
  library.resolve(call.hipHostFree, "hipHostFree");
  library.resolve(call.hipMemcpyAsync, "hipMemcpyAsync");
  library.resolve(call.hipMemsetAsync, "hipMemsetAsync");
  library.resolve(call.hipStreamCreateWithFlags, "hipStreamCreateWithFlags");
  library.resolve(call.hipStreamDestroy, "hipStreamDestroy");
  library.resolve(call.hipStreamSynchronize, "hipStreamSynchronize");
  library.resolve(call.hipStreamWaitEvent, "hipStreamWaitEvent");
  library.resolve(call.hipEventCreateWithFlags, "hipEventCreateWithFlags");
  library.resolve(call.hipEventRecord, "hipEventRecord");
  library.resolve(call.hipEventSynchronize, "hipEventSynchronize");
  library.resolve(call.hipEventElapsedTime, "hipEventElapsedTime");
  library.resolve(call.hipEventDestroy, "hipEventDestroy");
  library.resolve(call.hipStreamBeginCapture, "hipStreamBeginCapture");
  library.resolve(call.hipStreamEndCapture, "hipStreamEndCapture");
  library.resolve(call.hipStreamIsCapturing, "hipStreamIsCapturing");
  library.resolve(call.hipGraphInstantiate, "hipGraphInstantiate");
  library.resolve(call.hipGraphLaunch, "hipGraphLaunch");
  library.resolve(call.hipGraphExecDestroy, "hipGraphExecDestroy");
  library.resolve(call.hipGraphDestroy, "hipGraphDestroy");
  library.resolve(call.hipModuleLoadData, "hipModuleLoadData");
  library.resolve(call.hipModuleUnload, "hipModuleUnload");
  library.resolve(call.hipModuleGetFunction, "hipModuleGetFunction");
  library.resolve(call.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  library.resolve(call.hipModuleLaunchKernel, "hipModuleLaunchKernel");
  library.resolve(call.hipGetErrorName, "hipGetErrorName");
  library.resolve(call.hipGetErrorString, "hipGetErrorString");
}

/// Memory that processes share: whether there is virtual memory management.
bool resolve_shared_memory(Resolver& library, Functions& call) {
  library.resolve_optional(call.hipIpcGetMemHandle, "hipIpcGetMemHandle");
  library.resolve_optional(call.hipIpcOpenMemHandle, "hipIpcOpenMemHandle");
  library.resolve_optional(call.hipIpcCloseMemHandle, "hipIpcCloseMemHandle");
  library.resolve_optional(call.hipMemGetAddressRange, "hipMemGetAddressRange");
  library.resolve_optional(call.hipMemRetainAllocationHandle, "hipMemRetainAllocationHandle");
  library.resolve_optional(call.hipPointerGetAttribute, "hipPointerGetAttribute");
  library.resolve_optional(call.hipMemGetAllocationGranularity, "hipMemGetAllocationGranularity");
  library.resolve_optional(call.hipMemCreate, "hipMemCreate");
  library.resolve_optional(call.hipMemRelease, "hipMemRelease");
  library.resolve_optional(call.hipMemAddressReserve, "hipMemAddressReserve");
  library.resolve_optional(call.hipMemAddressFree, "hipMemAddressFree");
  library.resolve_optional(call.hipMemMap, "hipMemMap");
  library.resolve_optional(call.hipMemUnmap, "hipMemUnmap");
  library.resolve_optional(call.hipMemSetAccess, "hipMemSetAccess");
  library.resolve_optional(call.hipMemExportToShareableHandle, "hipMemExportToShareableHandle");
  library.resolve_optional(call.hipMemImportFromShareableHandle, "hipMemImportFromShareableHandle");
  return call.hipMemGetAllocationGranularity && call.hipMemCreate && call.hipMemRelease && call.hipMemAddressReserve &&
         call.hipMemAddressFree && call.hipMemMap && call.hipMemUnmap && call.hipMemSetAccess &&
         call.hipMemExportToShareableHandle && call.hipMemImportFromShareableHandle;
}

/// The first HIP whose virtual memory can be uncached: before, GPUs need not see one another's stores in it.
constexpr int first_with_uncached_memory = 7 * 10'000'000 + 2 * 100'000;

/// The `gfx…` string of hipDeviceProp_t. The struct changed its layout between HIP 5 and 6 and may again, and which
/// layout a library fills in depends on the symbol that is called; gcnArchName is a character array in every one of
/// them. So the call gets a buffer larger than any version of the struct, and the array is found by its content: it
/// starts after a zero byte and holds gfx and at least three hexadecimal digits.
std::string architecture_from_properties(const Api& api, int device) {
  alignas(std::max_align_t) std::array<char, 16384> buffer{};
  if (api.device_properties(buffer.data(), device) != success) return {};
  const std::string_view bytes(buffer.data(), buffer.size());
  const auto is_hexadecimal = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = bytes.find("gfx"); at != bytes.npos; at = bytes.find("gfx", at + 1)) {
    const bool starts_array = at == 0 || bytes[at - 1] == '\0';
    const std::string_view tail = bytes.substr(at, bytes.find('\0', at) - at);
    if (starts_array && tail.size() >= 6 && std::all_of(tail.begin() + 3, tail.begin() + 6, is_hexadecimal))
      return std::string(without_features(tail));
  }
  return {};
}

/// HIP_VERSION counts major · 10⁷ + minor · 10⁵ + patch.
std::string hip_version(const Functions& call) {
  int version = 0;
  if (call.hipRuntimeGetVersion(&version) != success) return "?";
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100);
}

LoadedApi load_machine_api() {
  const char* path = std::getenv("IRISGEN_HIP_LIBRARY");
  if (path && *path) return load_hip(path);
  LoadedApi amd = load_hip();
  if (amd) return amd;
  LoadedApi nvidia = load_cuda();
  if (nvidia) return nvidia;
  LoadedApi none;
  none.missing = "no GPU that irisgen can use: for AMD, " + amd.missing + "; for NVIDIA, " + nvidia.missing;
  return none;
}

}  // namespace

LoadedApi load_hip(const std::string& path) {
  std::vector<std::string> names = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
  if (!path.empty()) names = {path};
  return load_library(names, hip_remedy, [](Resolver& library, Api& api) {
    resolve_functions(library, api.call);
    library.resolve_optional(api.device_properties, "hipGetDevicePropertiesR0600");
    if (!api.device_properties) library.resolve(api.device_properties, "hipGetDeviceProperties");
    library.throw_if_missing("install HIP 5.2 or newer");

    int devices = 0;
    const Error error = api.call.hipGetDeviceCount(&devices);
    if (error != success || devices == 0)
      throw std::runtime_error(library.name() + " reports no device (" + api.call.hipGetErrorString(error) +
                               "); the amdgpu driver must be loaded and /dev/kfd open to this user (groups render, "
                               "video)");
    int version = 0;
    const bool is_new = api.call.hipRuntimeGetVersion(&version) == success && version >= first_with_uncached_memory;
    if (resolve_shared_memory(library, api.call) && is_new) api.shareable_memory = memory_uncached;
    api.access_from_begin = true;
    api.description = "HIP " + hip_version(api.call) + " (" + library.name() + ")";
    api.devices = devices;
    api.architecture = architecture_from_properties;
  });
}

const LoadedApi& machine_api() {
  // Never destroyed: GPU drivers keep threads and exit handlers, so closing them at the end of the process is not safe.
  static const LoadedApi* const loaded = new LoadedApi(load_machine_api());
  return *loaded;
}

std::string_view without_features(std::string_view architecture) {
  return architecture.substr(0, architecture.find(':'));
}

}  // namespace iris::hip
