#pragma once

#include <iris/device/numeric.hpp>

/// What NVIDIA's compute capabilities from 8.0 on have beside a GPU's usual instructions: copies to shared memory that
/// threads do not wait for, and products by whole warps: of 16 bits, from 8.9 on of e4m3, from 9.0 on in this shape of
/// f64. Each function is one instruction of PTX; see "Parallel Thread Execution ISA", sections "cp.async", "ldmatrix"
/// and "mma".
namespace iris::device::platform {

/// Copies 4, 8 or 16 bytes to shared memory, of which the first `valid` are read and the others are zeros.
template <int bytes>
__device__ __forceinline__ void copy_in_or_zero(void* to, const void* from, u32 valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "a copy moves 4, 8 or 16 bytes");
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "n"(bytes), "r"(valid)
                 : "memory");
  }
}
__device__ __forceinline__ void commit_copies_in() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Until this thread's copies have come, but for the last `pending` groups that it has committed.
template <int pending>
__device__ __forceinline__ void wait_copies_in() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// sums += a·b by the whole warp: 16 rows, 8 columns, a depth of 4, in f64. With g = lane / 4 and t = lane % 4 a lane
/// gives rows g and g + 8 of a, and column g of b, at depth t; and gets columns 2·t and 2·t + 1 of row g, then of row
/// g + 8.
__device__ __forceinline__ void multiply_16x8x4(f64 (&sums)[4], const f64 (&a)[2], f64 b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
}

/// Four matrices of eight rows of 16 bytes in shared memory, of which lane 8·i + j names row j of the i-th. A lane gets
/// bytes 4·t to 4·t + 3 of row g of each,
__device__ __forceinline__ void load_matrices(u32 (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(row))
               : "memory");
}
/// or, of elements of 16 bits, number g of rows 2·t and 2·t + 1.
__device__ __forceinline__ void load_transposed(u32 (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(row))
               : "memory");
}

/// sums += a·b by the whole warp: 16 rows, 8 columns, a depth of 32 bytes, in f32. A lane gives bytes 4·t to 4·t + 3 of
/// rows g and g + 8 of a, then the same 16 bytes after these; of column g of b the same bytes; and gets columns 2·t and
/// 2·t + 1 of row g, then of row g + 8.
template <typename Element>
__device__ __forceinline__ void multiply_16x8(f32 (&sums)[4], const u32 (&a)[4], u32 b, u32 b_after);

#define IRIS_MULTIPLY_16X8(element, shape_and_types)                                                            \
  template <>                                                                                                   \
  __device__ __forceinline__ void multiply_16x8<element>(f32(&sums)[4], const u32(&a)[4], u32 b, u32 b_after) { \
    asm("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"  \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                            \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(b_after));                                    \
  }
IRIS_MULTIPLY_16X8(f16, "m16n8k16.row.col.f32.f16.f16.f32")
IRIS_MULTIPLY_16X8(bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
IRIS_MULTIPLY_16X8(e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
#undef IRIS_MULTIPLY_16X8

}  // namespace iris::device::platform
