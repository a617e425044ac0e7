#pragma once

#include <cstddef>

#include "runtime/hip/api.hpp"

namespace iris::hip {
class Resolver;
}

/// The part of CUDA's driver interface that the adapter stands on, declared here because CUDA's headers are not on
/// every machine that builds irisgen; tests/runtime/cuda_header_check.cpp compares it with cuda.h where that is
/// installed.
namespace iris::hip::cuda {

/// CUresult
using Result = int;
/// CUdeviceptr
using Address = unsigned long long;

/// CUdevice_attribute
inline constexpr int attribute_multiprocessor_count = 16;
inline constexpr int attribute_compute_capability_major = 75;
inline constexpr int attribute_compute_capability_minor = 76;

/// Of CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion; elsewhere 0 is the usual choice.
inline constexpr int tensor_map_uint8 = 0;
inline constexpr int tensor_map_uint16 = 1;
inline constexpr int tensor_map_tfloat32 = 11;
inline constexpr int tensor_map_swizzle_128b = 3;
inline constexpr int tensor_map_l2_promotion_128b = 2;
inline constexpr int tensor_map_l2_promotion_256b = 3;

/// Of CUfunction_attribute: per cent of what can be cut.
inline constexpr int preferred_shared_memory_carveout = 9;

/// Of CUlaunchAttributeID: the launch may be set up while what its stream has before it ends.
inline constexpr int launch_programmatic_stream_serialization = 6;
struct LaunchAttribute {  ///< CUlaunchAttribute
  int id;
  int padding;
  union {
    char bytes[64];
    int flag;
  } value;
};
struct LaunchConfig {  ///< CUlaunchConfig
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
/// The first driver that captures such launches in graphs.
inline constexpr int version_of_dependent_launches = 12030;

/// A CUdevice is the device's ordinal. CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUgraph, CUgraphExec are all
/// `void*` here. Members are named as the driver names its functions; cuda_adapter.cpp gives the versioned symbols that
/// it resolves.
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);
  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGetName)(char* name, int bytes, int device);
  Result (*cuDeviceGetPCIBusId)(char* name, int bytes, int device);
  Result (*cuDeviceTotalMem_v2)(std::size_t* bytes, int device);
  Result (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  Result (*cuDeviceCanAccessPeer)(int* can, int device, int peer);
  Result (*cuDevicePrimaryCtxRetain)(void** context, int device);
  Result (*cuCtxSetCurrent)(void* context);
  Result (*cuCtxEnablePeerAccess)(void* peer_context, unsigned flags);

  Result (*cuMemAlloc_v2)(Address* memory, std::size_t bytes);
  Result (*cuMemFree_v2)(Address memory);
  Result (*cuMemHostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  Result (*cuMemFreeHost)(void* memory);
  Result (*cuMemcpyAsync)(Address destination, Address source, std::size_t bytes, void* stream);
  Result (*cuMemsetD8Async)(Address destination, unsigned char value, std::size_t bytes, void* stream);

  /// Since CUDA 10.2. The properties and accesses are laid out as HIP's.
  Result (*cuMemGetAllocationGranularity)(std::size_t* unit, const void* properties, int option);
  Result (*cuMemCreate)(unsigned long long* handle, std::size_t bytes, const void* properties,
                        unsigned long long flags);
  Result (*cuMemRelease)(unsigned long long handle);
  Result (*cuMemAddressReserve)(Address* memory, std::size_t bytes, std::size_t alignment, Address wanted,
                                unsigned long long flags);
  Result (*cuMemAddressFree)(Address memory, std::size_t bytes);
  Result (*cuMemMap)(Address memory, std::size_t bytes, std::size_t offset, unsigned long long handle,
                     unsigned long long flags);
  Result (*cuMemUnmap)(Address memory, std::size_t bytes);
  Result (*cuMemSetAccess)(Address memory, std::size_t bytes, const void* access, std::size_t count);
  Result (*cuMemExportToShareableHandle)(void* file, unsigned long long handle, int handle_type,
                                         unsigned long long flags);
  Result (*cuMemImportFromShareableHandle)(unsigned long long* handle, void* file, int handle_type);
  Result (*cuMemRetainAllocationHandle)(unsigned long long* handle, void* memory);
  Result (*cuMemGetAddressRange_v2)(Address* begin, std::size_t* bytes, Address memory);
  Result (*cuPointerGetAttribute)(void* value, int attribute, Address memory);
  Result (*cuIpcGetMemHandle)(IpcHandle* handle, Address memory);
  Result (*cuIpcOpenMemHandle_v2)(Address* memory, IpcHandle handle, unsigned flags);
  Result (*cuIpcCloseMemHandle)(Address memory);

  Result (*cuStreamCreate)(void** stream, unsigned flags);
  Result (*cuStreamDestroy_v2)(void* stream);
  Result (*cuStreamSynchronize)(void* stream);
  Result (*cuStreamWaitEvent)(void* stream, void* event, unsigned flags);
  Result (*cuEventCreate)(void** event, unsigned flags);
  Result (*cuEventRecord)(void* event, void* stream);
  Result (*cuEventSynchronize)(void* event);
  Result (*cuEventElapsedTime)(float* milliseconds, void* start, void* stop);
  Result (*cuEventDestroy_v2)(void* event);

  Result (*cuStreamBeginCapture_v2)(void* stream, int mode);
  Result (*cuStreamEndCapture)(void* stream, void** graph);
  Result (*cuStreamIsCapturing)(void* stream, int* status);
  Result (*cuGraphInstantiateWithFlags)(void** executable, void* graph, unsigned long long flags);
  Result (*cuGraphLaunch)(void* executable, void* stream);
  Result (*cuGraphExecDestroy)(void* executable);
  Result (*cuGraphDestroy)(void* graph);

  Result (*cuModuleLoadData)(void** module, const void* image);
  Result (*cuModuleUnload)(void* module);
  Result (*cuModuleGetFunction)(void** function, void* module, const char* name);
  Result (*cuFuncLoad)(void* function);  ///< since CUDA 12.4; null before
  Result (*cuFuncSetAttribute)(void* function, int attribute, int value);
  Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, void* function, int threads,
                                                        std::size_t dynamic_shared_bytes);
  Result (*cuLaunchKernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                           void** extra);
  Result (*cuLaunchKernelEx)(const LaunchConfig* config, void* function, void** arguments,
                             void** extra);  ///< since CUDA 11.8; null before

  Result (*cuTensorMapEncodeTiled)(void* map, int type, unsigned rank, void* address, const unsigned long long* lengths,
                                   const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                                   int interleave, int swizzle, int l2_promotion, int out_of_bounds);

  Result (*cuGetErrorName)(Result error, const char** name);
  Result (*cuGetErrorString)(Result error, const char** text);
};

/// Finds all of them in the driver's library, which records those that it lacks.
void resolve(Resolver& library, Driver& driver);

}  // namespace iris::hip::cuda
