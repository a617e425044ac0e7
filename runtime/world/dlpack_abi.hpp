#pragma once

#include <cstddef>
#include <cstdint>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/// The structs of dlpack/dlpack.h, version 1.1, as they lie in memory
/// (https://dmlc.github.io/dlpack/latest/c_api.html), under names of our own: a program may include that header, of
/// whatever version, as well. Debian's package is of version 0.6, which has neither versions nor floats of 8 bits.
namespace iris::dlpack {

// Of type DLDeviceType.
enum : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, rocm_host = 11, cuda_managed = 13 };

// Of type DLDataTypeCode.
enum : std::uint8_t { signed_integer = 0, ieee_float = 2, bfloat = 4, float8_e4m3fn = 10 };

struct __attribute__((may_alias)) Device {
  std::int32_t type;
  std::int32_t id;
};

struct __attribute__((may_alias)) DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct __attribute__((may_alias)) Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major without gaps
  std::uint64_t byte_offset;
};

/// DLManagedTensor.
struct __attribute__((may_alias)) Managed {
  Tensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor*);  ///< may be null
};

struct __attribute__((may_alias)) Version {
  std::uint32_t major;
  std::uint32_t minor;
};
constexpr Version version = {.major = 1, .minor = 1};

constexpr std::uint64_t read_only_flag = 1;

/// DLManagedTensorVersioned. Up to `flags` it is the same in every version.
struct __attribute__((may_alias)) ManagedVersioned {
  Version version;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned*);  ///< may be null
  std::uint64_t flags;
  Tensor tensor;
};
static_assert(offsetof(ManagedVersioned, version) == 0 && offsetof(ManagedVersioned, manager) == 8 &&
              offsetof(ManagedVersioned, deleter) == 16 && offsetof(ManagedVersioned, flags) == 24 &&
              offsetof(ManagedVersioned, tensor) == 32 && sizeof(ManagedVersioned) == 80);

}  // namespace iris::dlpack
