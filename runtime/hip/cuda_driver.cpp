#include "runtime/hip/cuda_driver.hpp"

#include "runtime/hip/resolver.hpp"

namespace iris::hip::cuda {
namespace {

void resolve_driver(Resolver& library, Driver& driver) {
  library.resolve(driver.cuInit, "cuInit");
  library.resolve(driver.cuDriverGetVersion, "cuDriverGetVersion");
  library.resolve(driver.cuDeviceGetCount, "cuDeviceGetCount");
  library.resolve(driver.cuDeviceGetName, "cuDeviceGetName");
  library.resolve(driver.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  library.resolve(driver.cuDeviceTotalMem_v2, "cuDeviceTotalMem_v2");
  library.resolve(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  library.resolve(driver.cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  library.resolve(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.resolve(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  library.resolve(driver.cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  library.resolve(driver.cuMemAlloc_v2, "cuMemAlloc_v2");
  library.resolve(driver.cuMemFree_v2, "cuMemFree_v2");
  library.resolve(driver.cuMemHostAlloc, "cuMemHostAlloc");
  library.resolve(driver.cuMemFreeHost, "cuMemFreeHost");
  library.resolve(driver.cuMemcpyAsync, "cuMemcpyAsync");
  library.resolve(driver.cuMemsetD8Async, "cuMemsetD8Async");
  library.resolve(driver.cuStreamCreate, "cuStreamCreate");
  library.resolve(driver.cuStreamDestroy_v2, "cuStreamDestroy_v2");
  library.resolve(driver.cuStreamSynchronize, "cuStreamSynchronize");
  library.resolve(driver.cuStreamWaitEvent, "cuStreamWaitEvent");
  library.resolve(driver.cuEventCreate, "cuEventCreate");
  library.resolve(driver.cuEventRecord, "cuEventRecord");
  library.resolve(driver.cuEventSynchronize, "cuEventSynchronize");
  library.resolve(driver.cuEventElapsedTime, "cuEventElapsedTime");
  library.resolve(driver.cuEventDestroy_v2, "cuEventDestroy_v2");
  library.resolve(driver.cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2");
  library.resolve(driver.cuStreamEndCapture, "cuStreamEndCapture");
  library.resolve(driver.cuStreamIsCapturing, "cuStreamIsCapturing");
  library.resolve(driver.cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  library.resolve(driver.cuGraphLaunch, "cuGraphLaunch");
  library.resolve(driver.cuGraphExecDestroy, "cuGraphExecDestroy");
  library.resolve(driver.cuGraphDestroy, "cuGraphDestroy");
  library.resolve(driver.cuModuleLoadData, "cuModuleLoadData");
  library.resolve(driver.cuModuleUnload, "cuModuleUnload");
  library.resolve(driver.cuModuleGetFunction, "cuModuleGetFunction");
  library.resolve_optional(driver.cuFuncLoad, "cuFuncLoad");
  library.resolve(driver.cuFuncSetAttribute, "cuFuncSetAttribute");
  library.resolve(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.resolve(driver.cuLaunchKernel, "cuLaunchKernel");
  library.resolve_optional(driver.cuLaunchKernelEx, "cuLaunchKernelEx");
  library.resolve_optional(driver.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  library.resolve(driver.cuGetErrorName, "cuGetErrorName");
  library.resolve(driver.cuGetErrorString, "cuGetErrorString");
}

void resolve_shared_memory(Resolver& library, Driver& driver) {
  library.resolve(driver.cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity");
  library.resolve(driver.cuMemCreate, "cuMemCreate");
  library.resolve(driver.cuMemRelease, "cuMemRelease");
  library.resolve(driver.cuMemAddressReserve, "cuMemAddressReserve");
  library.resolve(driver.cuMemAddressFree, "cuMemAddressFree");
  library.resolve(driver.cuMemMap, "cuMemMap");
  library.resolve(driver.cuMemUnmap, "cuMemUnmap");
  library.resolve(driver.cuMemSetAccess, "cuMemSetAccess");
  library.resolve(driver.cuMemExportToShareableHandle, "cuMemExportToShareableHandle");
  library.resolve(driver.cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle");
  library.resolve(driver.cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle");
  library.resolve(driver.cuMemGetAddressRange_v2, "cuMemGetAddressRange_v2");
  library.resolve(driver.cuPointerGetAttribute, "cuPointerGetAttribute");
  library.resolve(driver.cuIpcGetMemHandle, "cuIpcGetMemHandle");
  library.resolve(driver.cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle_v2");
  library.resolve(driver.cuIpcCloseMemHandle, "cuIpcCloseMemHandle");
}

}  // namespace

void resolve(Resolver& library, Driver& driver) {
  resolve_driver(library, driver);
  resolve_shared_memory(library, driver);
}

}  // namespace iris::hip::cuda
