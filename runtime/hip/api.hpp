#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

/// The HIP calls that irisgen uses, as a table of functions filled at run time: from libamdhip64 on AMD, from functions
/// over CUDA's driver (cuda_adapter.cpp) on NVIDIA. Everything above this file is written once, against HIP's names and
/// semantics. The declarations are our own because HIP's headers are not on every machine that builds irisgen;
/// tests/runtime/hip_header_check.cpp compares them with the real ones where those are installed.
namespace iris {
class DynamicLibrary;
}

namespace iris::hip {

/// hipError_t. CUDA's driver numbers its errors the same way, which is why the adapter passes them through.
using Error = int;
inline constexpr Error success = 0;
inline constexpr Error peer_access_already_enabled = 704;

/// hipDeviceAttribute_t. Its values did not change between HIP 5 and 6.
using Attribute = int;
inline constexpr Attribute multiprocessor_count = 63;

/// hipMemcpyKind
using CopyKind = int;
inline constexpr CopyKind copy_default = 4;

inline constexpr unsigned stream_default = 0x0;
inline constexpr unsigned stream_non_blocking = 0x1;
inline constexpr unsigned event_default = 0x0;
inline constexpr unsigned malloc_fine_grained = 0x1;
inline constexpr unsigned host_malloc_portable = 0x1;
inline constexpr unsigned host_malloc_mapped = 0x2;
inline constexpr unsigned host_malloc_coherent = 0x40000000;

/// hipStreamCaptureMode
using CaptureMode = int;
inline constexpr CaptureMode capture_thread_local = 1;

/// hipStreamCaptureStatus; an enumeration, which the library writes as an int.
using CaptureStatus = int;
inline constexpr CaptureStatus capture_none = 0;

/// Of virtual memory management, as HIP 7 has it: HIP 5 laid the properties out otherwise, and had no uncached memory.
using AllocationHandle = void*;  ///< hipMemGenericAllocationHandle_t
using MemoryType = int;          ///< hipMemAllocationType
inline constexpr MemoryType memory_pinned = 1;
inline constexpr MemoryType memory_uncached = 0x40000000;
inline constexpr int location_device = 1;
inline constexpr int handle_type_file = 1;  ///< hipMemHandleTypePosixFileDescriptor
inline constexpr int granularity_recommended = 1;
inline constexpr int access_read_write = 3;
struct Location {  ///< hipMemLocation
  int type;
  int device;
};
struct AllocationProperties {  ///< hipMemAllocationProp
  MemoryType type;
  int handle_types;
  Location location;
  void* windows;
  unsigned char compression;
  unsigned char remote_access;
  unsigned short usage;
  unsigned char reserved[4];
};
struct AccessDescription {  ///< hipMemAccessDesc
  Location location;
  int flags;
};

/// hipIpcMemHandle_t
struct IpcHandle {
  char reserved[64];
};
inline constexpr unsigned ipc_lazy_enable_peer_access = 1;

/// hipPointer_attribute
using PointerAttribute = int;
inline constexpr PointerAttribute pointer_attribute_buffer = 7;  ///< a number of an allocation, never used again
inline constexpr PointerAttribute pointer_attribute_pool = 17;   ///< of a stream-ordered allocation

/// hipStream_t, hipEvent_t, hipModule_t, hipFunction_t, hipGraph_t and hipGraphExec_t: pointers to what only the
/// library knows.
using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using GraphHandle = void*;

/// Members are named as HIP names its functions. All are set in a table that load_hip() or load_cuda() returned, but
/// for those of memory that processes share, which not every library has.
struct Functions {
  Error (*hipRuntimeGetVersion)(int* version);
  Error (*hipGetDeviceCount)(int* count);
  Error (*hipSetDevice)(int device);
  Error (*hipDeviceGetName)(char* name, int bytes, int device);
  Error (*hipDeviceGetPCIBusId)(char* name, int bytes, int device);
  Error (*hipDeviceTotalMem)(std::size_t* bytes, int device);
  Error (*hipDeviceGetAttribute)(int* value, Attribute attribute, int device);
  Error (*hipDeviceCanAccessPeer)(int* can, int device, int peer);
  Error (*hipDeviceEnablePeerAccess)(int peer, unsigned flags);

  Error (*hipExtMallocWithFlags)(void** memory, std::size_t bytes, unsigned flags);
  Error (*hipFree)(void* memory);
  Error (*hipHostMalloc)(void** memory, std::size_t bytes, unsigned flags);
  Error (*hipHostFree)(void* memory);
  Error (*hipMemcpyAsync)(void* destination, const void* source, std::size_t bytes, CopyKind kind, StreamHandle stream);
  Error (*hipMemsetAsync)(void* destination, int value, std::size_t bytes, StreamHandle stream);

  Error (*hipMemGetAllocationGranularity)(std::size_t* unit, const AllocationProperties* properties, int option);
  Error (*hipMemCreate)(AllocationHandle* handle, std::size_t bytes, const AllocationProperties* properties,
                        unsigned long long flags);
  Error (*hipMemRelease)(AllocationHandle handle);
  Error (*hipMemAddressReserve)(void** memory, std::size_t bytes, std::size_t alignment, void* wanted,
                                unsigned long long flags);
  Error (*hipMemAddressFree)(void* memory, std::size_t bytes);
  Error (*hipMemMap)(void* memory, std::size_t bytes, std::size_t offset, AllocationHandle handle,
                     unsigned long long flags);
  Error (*hipMemUnmap)(void* memory, std::size_t bytes);
  Error (*hipMemSetAccess)(void* memory, std::size_t bytes, const AccessDescription* access, std::size_t count);
  Error (*hipMemExportToShareableHandle)(void* file, AllocationHandle handle, int handle_type,
                                         unsigned long long flags);
  Error (*hipMemImportFromShareableHandle)(AllocationHandle* handle, void* file, int handle_type);
  Error (*hipIpcGetMemHandle)(IpcHandle* handle, void* memory);
  Error (*hipIpcOpenMemHandle)(void** memory, IpcHandle handle, unsigned flags);
  Error (*hipIpcCloseMemHandle)(void* memory);
  Error (*hipMemGetAddressRange)(void** begin, std::size_t* bytes, void* memory);
  Error (*hipMemRetainAllocationHandle)(AllocationHandle* handle, void* memory);
  Error (*hipPointerGetAttribute)(void* value, PointerAttribute attribute, void* memory);

  Error (*hipStreamCreateWithFlags)(StreamHandle* stream, unsigned flags);
  Error (*hipStreamDestroy)(StreamHandle stream);
  Error (*hipStreamSynchronize)(StreamHandle stream);
  Error (*hipStreamWaitEvent)(StreamHandle stream, EventHandle event, unsigned flags);
  Error (*hipEventCreateWithFlags)(EventHandle* event, unsigned flags);
  Error (*hipEventRecord)(EventHandle event, StreamHandle stream);
  Error (*hipEventSynchronize)(EventHandle event);
  Error (*hipEventElapsedTime)(float* milliseconds, EventHandle start, EventHandle stop);
  Error (*hipEventDestroy)(EventHandle event);

  Error (*hipStreamBeginCapture)(StreamHandle stream, CaptureMode mode);
  Error (*hipStreamEndCapture)(StreamHandle stream, GraphHandle* graph);
  Error (*hipStreamIsCapturing)(StreamHandle stream, CaptureStatus* status);
  Error (*hipGraphInstantiate)(GraphHandle* executable, GraphHandle graph, void** failed_node, char* log,
                               std::size_t log_bytes);
  Error (*hipGraphLaunch)(GraphHandle executable, StreamHandle stream);
  Error (*hipGraphExecDestroy)(GraphHandle executable);
  Error (*hipGraphDestroy)(GraphHandle graph);

  Error (*hipModuleLoadData)(ModuleHandle* module, const void* image);
  Error (*hipModuleUnload)(ModuleHandle module);
  Error (*hipModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name);
  Error (*hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, FunctionHandle function, int threads,
                                                              std::size_t dynamic_shared_bytes);
  Error (*hipModuleLaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 StreamHandle stream, void** arguments, void** extra);

  const char* (*hipGetErrorName)(Error error);
  const char* (*hipGetErrorString)(Error error);
};

/// A loaded GPU library with at least one device.
struct Api {
  Functions call = {};
  std::string description;  ///< "HIP 6.2 (libamdhip64.so.6)"
  int devices = 0;
  /// What the device runs, as the vendor's compiler spells it and without feature suffixes: gfx942, sm_90. Empty if it
  /// cannot be told. Stands beside the table because HIP has no call for it whose binary interface is stable.
  std::string (*architecture)(const Api& api, int device) = nullptr;
  /// Makes a 128-byte CUtensorMap of a matrix (`lengths`: columns, rows) of elements of 1 or 2 bytes, in boxes swizzled
  /// by 128 bytes. HIP has no such call; null on AMD.
  Error (*encode_tensor_map)(void* map, const void* data, unsigned element_bytes,
                             const unsigned long long (&lengths)[2], const unsigned (&box)[2]) = nullptr;
  /// hipModuleLaunchKernel of a kernel that waits itself for what the stream has before it, and so may be set up while
  /// that ends. HIP has no such call; null on AMD and of drivers that capture no such launches in graphs.
  Error (*launch_dependent)(FunctionHandle function, unsigned blocks, unsigned threads, StreamHandle stream,
                            void** arguments) = nullptr;
  /// Has compute units that run the function cut as much shared memory as they can from the memory that their cache is
  /// cut from, too. Null on AMD, where they are two memories.
  Error (*leave_shared_memory)(FunctionHandle function) = nullptr;
  /// Of what kind memory is that processes share by virtual memory management, and in which GPUs see one another's
  /// stores while kernels run; 0 where there is none.
  MemoryType shareable_memory = 0;
  /// ROCm 7.2's hipMemSetAccess adds up what is mapped from the reservation's begin on, wherever the range begins that
  /// it is given (ROCm/rocm-systems, pull request 6977): it must begin there.
  bool access_from_begin = false;
  /// hipGetDeviceProperties in the version that the library prefers; null on NVIDIA.
  Error (*device_properties)(void* properties, int device) = nullptr;
  std::shared_ptr<const DynamicLibrary> library;  ///< keeps the functions where they are
  /// The devices, from the first, that this process has let copy to one another (devices.cpp).
  struct Primed {
    std::mutex mutex;
    std::size_t devices = 0;
  };
  std::shared_ptr<Primed> primed = std::make_shared<Primed>();
};

/// Either a library or the sentence that says why there is none and what brings it.
struct LoadedApi {
  Api api;
  std::string missing;  ///< empty: `api` is usable
  explicit operator bool() const { return missing.empty(); }
};

/// Opens libamdhip64: `path` alone if it is not empty, else the names that ROCm's releases give it.
LoadedApi load_hip(const std::string& path = {});

/// Opens CUDA's driver (cuda_adapter.cpp): `path` alone if it is not empty, else libcuda.so.1.
LoadedApi load_cuda(const std::string& path = {});

/// The GPU library of this machine, opened once: AMD's if it reports a device, else NVIDIA's. IRISGEN_HIP_LIBRARY in
/// the environment names a libamdhip64 to use instead, for a ROCm that the loader does not find.
const LoadedApi& machine_api();

/// `gfx90a` of `gfx90a:sramecc+:xnack-`.
std::string_view without_features(std::string_view architecture);

}  // namespace iris::hip
