// Compares our declarations of CUDA's driver with the installed cuda.h, at compile time.

#include <cuda.h>

// The header makes a newer symbol of this name current; it takes the same parameters as the one that every driver has.
using CurrentElapsedTime = decltype(&::cuEventElapsedTime);
#undef cuEventElapsedTime

#include "iris/device/abi.hpp"
#include "runtime/hip/api.hpp"
#include "runtime/hip/cuda_driver.hpp"
#include "tests/runtime/signature.hpp"

namespace iris::hip::cuda {

using test::call_compatible;

static_assert(sizeof(Address) == sizeof(CUdeviceptr));
static_assert(attribute_multiprocessor_count == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(attribute_compute_capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(attribute_compute_capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(success == CUDA_SUCCESS);
static_assert(peer_access_already_enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(stream_default == CU_STREAM_DEFAULT);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_default == CU_EVENT_DEFAULT);
static_assert(host_malloc_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(host_malloc_mapped == CU_MEMHOSTALLOC_DEVICEMAP);

static_assert(call_compatible<decltype(Driver::cuInit), decltype(&::cuInit)>);
static_assert(call_compatible<decltype(Driver::cuDriverGetVersion), decltype(&::cuDriverGetVersion)>);
static_assert(call_compatible<decltype(Driver::cuDeviceGetCount), decltype(&::cuDeviceGetCount)>);
static_assert(call_compatible<decltype(Driver::cuDeviceGetName), decltype(&::cuDeviceGetName)>);
static_assert(call_compatible<decltype(Driver::cuDeviceTotalMem_v2), decltype(&::cuDeviceTotalMem_v2)>);
static_assert(call_compatible<decltype(Driver::cuDeviceGetAttribute), decltype(&::cuDeviceGetAttribute)>);
static_assert(call_compatible<decltype(Driver::cuDeviceCanAccessPeer), decltype(&::cuDeviceCanAccessPeer)>);
static_assert(call_compatible<decltype(Driver::cuDevicePrimaryCtxRetain), decltype(&::cuDevicePrimaryCtxRetain)>);
static_assert(call_compatible<decltype(Driver::cuCtxSetCurrent), decltype(&::cuCtxSetCurrent)>);
static_assert(call_compatible<decltype(Driver::cuCtxEnablePeerAccess), decltype(&::cuCtxEnablePeerAccess)>);
static_assert(call_compatible<decltype(Driver::cuMemAlloc_v2), decltype(&::cuMemAlloc_v2)>);
static_assert(call_compatible<decltype(Driver::cuMemFree_v2), decltype(&::cuMemFree_v2)>);
static_assert(call_compatible<decltype(Driver::cuMemHostAlloc), decltype(&::cuMemHostAlloc)>);
static_assert(call_compatible<decltype(Driver::cuMemFreeHost), decltype(&::cuMemFreeHost)>);
static_assert(call_compatible<decltype(Driver::cuMemcpyAsync), decltype(&::cuMemcpyAsync)>);
static_assert(call_compatible<decltype(Driver::cuMemsetD8Async), decltype(&::cuMemsetD8Async)>);
static_assert(call_compatible<decltype(Driver::cuDeviceGetPCIBusId), decltype(&::cuDeviceGetPCIBusId)>);
static_assert(
    call_compatible<decltype(Driver::cuMemGetAllocationGranularity), decltype(&::cuMemGetAllocationGranularity)>);
static_assert(call_compatible<decltype(Driver::cuMemCreate), decltype(&::cuMemCreate)>);
static_assert(call_compatible<decltype(Driver::cuMemRelease), decltype(&::cuMemRelease)>);
static_assert(call_compatible<decltype(Driver::cuMemAddressReserve), decltype(&::cuMemAddressReserve)>);
static_assert(call_compatible<decltype(Driver::cuMemAddressFree), decltype(&::cuMemAddressFree)>);
static_assert(call_compatible<decltype(Driver::cuMemMap), decltype(&::cuMemMap)>);
static_assert(call_compatible<decltype(Driver::cuMemUnmap), decltype(&::cuMemUnmap)>);
static_assert(call_compatible<decltype(Driver::cuMemSetAccess), decltype(&::cuMemSetAccess)>);
static_assert(
    call_compatible<decltype(Driver::cuMemExportToShareableHandle), decltype(&::cuMemExportToShareableHandle)>);
static_assert(
    call_compatible<decltype(Driver::cuMemImportFromShareableHandle), decltype(&::cuMemImportFromShareableHandle)>);
static_assert(call_compatible<decltype(Driver::cuMemRetainAllocationHandle), decltype(&::cuMemRetainAllocationHandle)>);
static_assert(call_compatible<decltype(Driver::cuMemGetAddressRange_v2), decltype(&::cuMemGetAddressRange_v2)>);
static_assert(call_compatible<decltype(Driver::cuPointerGetAttribute), decltype(&::cuPointerGetAttribute)>);
static_assert(call_compatible<decltype(Driver::cuIpcGetMemHandle), decltype(&::cuIpcGetMemHandle)>);
static_assert(call_compatible<decltype(Driver::cuIpcOpenMemHandle_v2), decltype(&::cuIpcOpenMemHandle_v2)>);
static_assert(call_compatible<decltype(Driver::cuIpcCloseMemHandle), decltype(&::cuIpcCloseMemHandle)>);
static_assert(pointer_attribute_buffer == CU_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(pointer_attribute_pool == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
static_assert(ipc_lazy_enable_peer_access == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(memory_pinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(location_device == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(handle_type_file == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(granularity_recommended == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
static_assert(access_read_write == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handle_types) == offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, windows) == offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(AllocationProperties, compression) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(Location) == sizeof(CUmemLocation) && offsetof(Location, device) == offsetof(CUmemLocation, id));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(call_compatible<decltype(Driver::cuStreamCreate), decltype(&::cuStreamCreate)>);
static_assert(call_compatible<decltype(Driver::cuStreamDestroy_v2), decltype(&::cuStreamDestroy_v2)>);
static_assert(call_compatible<decltype(Driver::cuStreamSynchronize), decltype(&::cuStreamSynchronize)>);
static_assert(call_compatible<decltype(Driver::cuStreamWaitEvent), decltype(&::cuStreamWaitEvent)>);
static_assert(call_compatible<decltype(Driver::cuEventCreate), decltype(&::cuEventCreate)>);
static_assert(call_compatible<decltype(Driver::cuEventRecord), decltype(&::cuEventRecord)>);
static_assert(call_compatible<decltype(Driver::cuEventSynchronize), decltype(&::cuEventSynchronize)>);
static_assert(call_compatible<decltype(Driver::cuEventElapsedTime), CurrentElapsedTime>);
static_assert(call_compatible<decltype(Driver::cuEventDestroy_v2), decltype(&::cuEventDestroy_v2)>);
static_assert(call_compatible<decltype(Driver::cuStreamBeginCapture_v2), decltype(&::cuStreamBeginCapture_v2)>);
static_assert(call_compatible<decltype(Driver::cuStreamEndCapture), decltype(&::cuStreamEndCapture)>);
static_assert(call_compatible<decltype(Driver::cuStreamIsCapturing), decltype(&::cuStreamIsCapturing)>);
static_assert(call_compatible<decltype(Driver::cuGraphInstantiateWithFlags), decltype(&::cuGraphInstantiateWithFlags)>);
static_assert(call_compatible<decltype(Driver::cuGraphLaunch), decltype(&::cuGraphLaunch)>);
static_assert(call_compatible<decltype(Driver::cuGraphExecDestroy), decltype(&::cuGraphExecDestroy)>);
static_assert(call_compatible<decltype(Driver::cuGraphDestroy), decltype(&::cuGraphDestroy)>);
static_assert(call_compatible<decltype(Driver::cuModuleLoadData), decltype(&::cuModuleLoadData)>);
static_assert(call_compatible<decltype(Driver::cuModuleUnload), decltype(&::cuModuleUnload)>);
static_assert(call_compatible<decltype(Driver::cuModuleGetFunction), decltype(&::cuModuleGetFunction)>);
static_assert(call_compatible<decltype(Driver::cuFuncLoad), decltype(&::cuFuncLoad)>);
static_assert(call_compatible<decltype(Driver::cuFuncSetAttribute), decltype(&::cuFuncSetAttribute)>);
static_assert(call_compatible<decltype(Driver::cuOccupancyMaxActiveBlocksPerMultiprocessor),
                              decltype(&::cuOccupancyMaxActiveBlocksPerMultiprocessor)>);
static_assert(call_compatible<decltype(Driver::cuLaunchKernel), decltype(&::cuLaunchKernel)>);
static_assert(call_compatible<decltype(Driver::cuLaunchKernelEx), decltype(&::cuLaunchKernelEx)>);
static_assert(preferred_shared_memory_carveout == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
static_assert(launch_programmatic_stream_serialization == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(tensor_map_uint8 == CU_TENSOR_MAP_DATA_TYPE_UINT8);
static_assert(tensor_map_uint16 == CU_TENSOR_MAP_DATA_TYPE_UINT16);
static_assert(tensor_map_tfloat32 == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
static_assert(tensor_map_swizzle_128b == CU_TENSOR_MAP_SWIZZLE_128B);
static_assert(tensor_map_l2_promotion_128b == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
static_assert(tensor_map_l2_promotion_256b == CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
static_assert(CU_TENSOR_MAP_INTERLEAVE_NONE == 0 && CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0);
static_assert(sizeof(CUtensorMap) == sizeof(device::TensorMap) && alignof(CUtensorMap) <= alignof(device::TensorMap));
static_assert(call_compatible<decltype(Driver::cuTensorMapEncodeTiled), decltype(&::cuTensorMapEncodeTiled)>);
static_assert(call_compatible<decltype(Driver::cuGetErrorName), decltype(&::cuGetErrorName)>);
static_assert(call_compatible<decltype(Driver::cuGetErrorString), decltype(&::cuGetErrorString)>);

}  // namespace iris::hip::cuda
