// Compares our declarations of HIP with the installed headers, at compile time.

#include <hip/hip_runtime_api.h>

#include "runtime/hip/api.hpp"
#include "tests/runtime/signature.hpp"

namespace iris::hip {

using test::call_compatible;

static_assert(success == hipSuccess);
static_assert(peer_access_already_enabled == hipErrorPeerAccessAlreadyEnabled);
static_assert(multiprocessor_count == hipDeviceAttributeMultiprocessorCount);
static_assert(copy_default == hipMemcpyDefault);
static_assert(stream_default == hipStreamDefault);
static_assert(stream_non_blocking == hipStreamNonBlocking);
static_assert(capture_thread_local == hipStreamCaptureModeThreadLocal);
static_assert(event_default == hipEventDefault);
static_assert(malloc_fine_grained == hipDeviceMallocFinegrained);
static_assert(host_malloc_portable == hipHostMallocPortable);
static_assert(host_malloc_mapped == hipHostMallocMapped);
static_assert(host_malloc_coherent == hipHostMallocCoherent);

static_assert(call_compatible<decltype(Functions::hipRuntimeGetVersion), decltype(&::hipRuntimeGetVersion)>);
static_assert(call_compatible<decltype(Functions::hipGetDeviceCount), decltype(&::hipGetDeviceCount)>);
static_assert(call_compatible<decltype(Functions::hipSetDevice), decltype(&::hipSetDevice)>);
static_assert(call_compatible<decltype(Functions::hipDeviceGetName), decltype(&::hipDeviceGetName)>);
static_assert(call_compatible<decltype(Functions::hipDeviceTotalMem), decltype(&::hipDeviceTotalMem)>);
static_assert(call_compatible<decltype(Functions::hipDeviceGetAttribute), decltype(&::hipDeviceGetAttribute)>);
static_assert(call_compatible<decltype(Functions::hipDeviceCanAccessPeer), decltype(&::hipDeviceCanAccessPeer)>);
static_assert(call_compatible<decltype(Functions::hipDeviceEnablePeerAccess), decltype(&::hipDeviceEnablePeerAccess)>);
static_assert(call_compatible<decltype(Functions::hipExtMallocWithFlags), decltype(&::hipExtMallocWithFlags)>);
static_assert(call_compatible<decltype(Functions::hipFree), decltype(&::hipFree)>);
static_assert(call_compatible<decltype(Functions::hipHostMalloc),
                              decltype(static_cast<hipError_t (*)(void**, std::size_t, unsigned)>(&::hipHostMalloc))>);
static_assert(call_compatible<decltype(Functions::hipHostFree), decltype(&::hipHostFree)>);
static_assert(call_compatible<decltype(Functions::hipMemcpyAsync), decltype(&::hipMemcpyAsync)>);
static_assert(call_compatible<decltype(Functions::hipMemsetAsync), decltype(&::hipMemsetAsync)>);
static_assert(call_compatible<decltype(Functions::hipDeviceGetPCIBusId), decltype(&::hipDeviceGetPCIBusId)>);
static_assert(call_compatible<decltype(Functions::hipMemRelease), decltype(&::hipMemRelease)>);
static_assert(call_compatible<decltype(Functions::hipMemAddressReserve), decltype(&::hipMemAddressReserve)>);
static_assert(call_compatible<decltype(Functions::hipMemAddressFree), decltype(&::hipMemAddressFree)>);
static_assert(call_compatible<decltype(Functions::hipMemMap), decltype(&::hipMemMap)>);
static_assert(call_compatible<decltype(Functions::hipMemUnmap), decltype(&::hipMemUnmap)>);
static_assert(call_compatible<decltype(Functions::hipMemCreate), decltype(&::hipMemCreate)>);
static_assert(call_compatible<decltype(Functions::hipMemSetAccess), decltype(&::hipMemSetAccess)>);
static_assert(
    call_compatible<decltype(Functions::hipMemGetAllocationGranularity), decltype(&::hipMemGetAllocationGranularity)>);
static_assert(
    call_compatible<decltype(Functions::hipMemExportToShareableHandle), decltype(&::hipMemExportToShareableHandle)>);
static_assert(call_compatible<decltype(Functions::hipMemImportFromShareableHandle),
                              decltype(&::hipMemImportFromShareableHandle)>);
static_assert(call_compatible<decltype(Functions::hipIpcGetMemHandle), decltype(&::hipIpcGetMemHandle)>);
static_assert(call_compatible<decltype(Functions::hipIpcOpenMemHandle), decltype(&::hipIpcOpenMemHandle)>);
static_assert(call_compatible<decltype(Functions::hipIpcCloseMemHandle), decltype(&::hipIpcCloseMemHandle)>);
static_assert(call_compatible<decltype(Functions::hipMemGetAddressRange), decltype(&::hipMemGetAddressRange)>);
static_assert(
    call_compatible<decltype(Functions::hipMemRetainAllocationHandle), decltype(&::hipMemRetainAllocationHandle)>);
static_assert(call_compatible<decltype(Functions::hipPointerGetAttribute), decltype(&::hipPointerGetAttribute)>);
static_assert(pointer_attribute_buffer == HIP_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(pointer_attribute_pool == HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
static_assert(memory_pinned == hipMemAllocationTypePinned);
static_assert(location_device == hipMemLocationTypeDevice);
static_assert(handle_type_file == hipMemHandleTypePosixFileDescriptor);
static_assert(granularity_recommended == hipMemAllocationGranularityRecommended);
static_assert(access_read_write == hipMemAccessFlagsProtReadWrite);
static_assert(sizeof(AccessDescription) == sizeof(hipMemAccessDesc));
static_assert(sizeof(IpcHandle) == sizeof(hipIpcMemHandle_t));
#if HIP_VERSION_MAJOR >= 7  // earlier ones are not asked for virtual memory
static_assert(memory_uncached == hipMemAllocationTypeUncached);
static_assert(ipc_lazy_enable_peer_access == hipIpcMemLazyEnablePeerAccess);
static_assert(sizeof(AllocationProperties) == sizeof(hipMemAllocationProp));
static_assert(offsetof(AllocationProperties, location) == offsetof(hipMemAllocationProp, location));
#endif
static_assert(call_compatible<decltype(Functions::hipStreamCreateWithFlags), decltype(&::hipStreamCreateWithFlags)>);
static_assert(call_compatible<decltype(Functions::hipStreamDestroy), decltype(&::hipStreamDestroy)>);
static_assert(call_compatible<decltype(Functions::hipStreamSynchronize), decltype(&::hipStreamSynchronize)>);
static_assert(call_compatible<decltype(Functions::hipStreamWaitEvent), decltype(&::hipStreamWaitEvent)>);
static_assert(call_compatible<decltype(Functions::hipEventCreateWithFlags), decltype(&::hipEventCreateWithFlags)>);
static_assert(call_compatible<decltype(Functions::hipEventRecord), decltype(&::hipEventRecord)>);
static_assert(call_compatible<decltype(Functions::hipEventSynchronize), decltype(&::hipEventSynchronize)>);
static_assert(call_compatible<decltype(Functions::hipEventElapsedTime), decltype(&::hipEventElapsedTime)>);
static_assert(call_compatible<decltype(Functions::hipEventDestroy), decltype(&::hipEventDestroy)>);
static_assert(call_compatible<decltype(Functions::hipStreamBeginCapture), decltype(&::hipStreamBeginCapture)>);
static_assert(call_compatible<decltype(Functions::hipStreamEndCapture), decltype(&::hipStreamEndCapture)>);
static_assert(call_compatible<decltype(Functions::hipStreamIsCapturing), decltype(&::hipStreamIsCapturing)>);
static_assert(call_compatible<decltype(Functions::hipGraphInstantiate), decltype(&::hipGraphInstantiate)>);
static_assert(call_compatible<decltype(Functions::hipGraphLaunch), decltype(&::hipGraphLaunch)>);
static_assert(call_compatible<decltype(Functions::hipGraphExecDestroy), decltype(&::hipGraphExecDestroy)>);
static_assert(call_compatible<decltype(Functions::hipGraphDestroy), decltype(&::hipGraphDestroy)>);
static_assert(call_compatible<decltype(Functions::hipModuleLoadData), decltype(&::hipModuleLoadData)>);
static_assert(call_compatible<decltype(Functions::hipModuleUnload), decltype(&::hipModuleUnload)>);
static_assert(call_compatible<decltype(Functions::hipModuleGetFunction), decltype(&::hipModuleGetFunction)>);
static_assert(call_compatible<decltype(Functions::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor),
                              decltype(static_cast<hipError_t (*)(int*, hipFunction_t, int, std::size_t)>(
                                  &::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor))>);
static_assert(call_compatible<decltype(Functions::hipModuleLaunchKernel), decltype(&::hipModuleLaunchKernel)>);
static_assert(call_compatible<decltype(Functions::hipGetErrorName), decltype(&::hipGetErrorName)>);
static_assert(call_compatible<decltype(Functions::hipGetErrorString), decltype(&::hipGetErrorString)>);
static_assert(call_compatible<decltype(Api::device_properties), decltype(&::hipGetDeviceProperties)>);

}  // namespace iris::hip
