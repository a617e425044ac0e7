// Our description of DLPack's structs against the header that is installed: those without a version of whatever it is,
// the versioned ones of version 1. Compiled, never run.

#include <dlpack/dlpack.h>

#include <cstddef>

#include "runtime/world/dlpack_abi.hpp"

namespace iris::dlpack {

static_assert(sizeof(Device) == sizeof(DLDevice));
static_assert(offsetof(DataType, bits) == offsetof(DLDataType, bits));
static_assert(offsetof(DataType, lanes) == offsetof(DLDataType, lanes));
static_assert(sizeof(DataType) == sizeof(DLDataType));
static_assert(offsetof(Tensor, data) == offsetof(DLTensor, data));
static_assert(offsetof(Tensor, device) == offsetof(DLTensor, device));
static_assert(offsetof(Tensor, ndim) == offsetof(DLTensor, ndim));
static_assert(offsetof(Tensor, dtype) == offsetof(DLTensor, dtype));
static_assert(offsetof(Tensor, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(Tensor, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(Tensor, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(sizeof(Tensor) == sizeof(DLTensor));
static_assert(offsetof(Managed, manager) == offsetof(DLManagedTensor, manager_ctx));
static_assert(offsetof(Managed, deleter) == offsetof(DLManagedTensor, deleter));
static_assert(sizeof(Managed) == sizeof(DLManagedTensor));

static_assert(std::int32_t{cpu} == kDLCPU && std::int32_t{cuda} == kDLCUDA && std::int32_t{cuda_host} == kDLCUDAHost);
static_assert(std::int32_t{rocm} == kDLROCM);
static_assert(std::uint8_t{signed_integer} == kDLInt && std::uint8_t{ieee_float} == kDLFloat);
static_assert(std::uint8_t{bfloat} == kDLBfloat);

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION == 1
static_assert(offsetof(ManagedVersioned, version) == offsetof(DLManagedTensorVersioned, version));
static_assert(offsetof(ManagedVersioned, manager) == offsetof(DLManagedTensorVersioned, manager_ctx));
static_assert(offsetof(ManagedVersioned, deleter) == offsetof(DLManagedTensorVersioned, deleter));
static_assert(offsetof(ManagedVersioned, flags) == offsetof(DLManagedTensorVersioned, flags));
static_assert(offsetof(ManagedVersioned, tensor) == offsetof(DLManagedTensorVersioned, dl_tensor));
static_assert(read_only_flag == DLPACK_FLAG_BITMASK_READ_ONLY);
static_assert(std::int32_t{rocm_host} == kDLROCMHost && std::int32_t{cuda_managed} == kDLCUDAManaged);
#if DLPACK_MINOR_VERSION >= 1
static_assert(std::uint8_t{float8_e4m3fn} == kDLFloat8_e4m3fn);
#endif
#endif

}  // namespace iris::dlpack
