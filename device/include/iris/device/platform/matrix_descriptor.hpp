#pragma once

#include <iris/device/platform/keywords.hpp>
#include <iris/device/types.hpp>

/// Operands of compute capability 9.0a's products, as they lie in shared memory: see "Matrix Descriptor Format" in
/// "Parallel Thread Execution ISA". Theirs are rows of 128 bytes, swizzled, of which groups of eight lie 1024 bytes
/// apart.
namespace iris::device::platform {

/// The lower half of a descriptor: where an operand begins in shared memory and, where it is wider than a row, how many
/// bytes separate its parts. A sum of it and a number of bytes / 16 begins so much later.
__device__ constexpr u32 matrix_descriptor(u32 address, u32 part_bytes) {
  return (address >> 4 & 0x3fff) | (part_bytes >> 4 & 0x3fff) << 16;
}
__device__ constexpr u64 whole_descriptor(u32 lower) {
  constexpr u32 bytes_of_eight_rows = 1024;
  constexpr u32 swizzled_128_bytes = u32{1} << 30;
  return u64{bytes_of_eight_rows >> 4 | swizzled_128_bytes} << 32 | lower;
}

}  // namespace iris::device::platform
