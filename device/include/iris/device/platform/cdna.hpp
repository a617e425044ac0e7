#pragma once

#include <iris/device/numeric.hpp>

/// What AMD Instinct GPUs have beside a GPU's usual instructions: the matrix cores of CDNA 2 to 4 (gfx90a, gfx942,
/// gfx950). See the "Matrix Arithmetic Instructions" of their ISA guides.
namespace iris::device::platform {

/// The calling thread's wave in its block; the same for the wave's 64 threads, which lets the compiler branch on it
/// without masks.
__device__ __forceinline__ i32 wave_index() {
  return __builtin_amdgcn_readfirstlane(thread_index() / 64);
}

/// Loads before this place are issued before what follows. The compiler would put them off, to save registers, until
/// there is nothing left to hide their latency.
__device__ __forceinline__ void keep_order() {
  asm volatile("" ::: "memory");
}

/// sync_block(). Products that were asked for before it are under way when it returns, so that they hide what a thread
/// waits for next. They may start behind the barrier, but with hiprtc 5.2, which waits for all loads there.
__device__ __forceinline__ void sync_block_and_start_products() {
#if __clang_major__ < 16
  __builtin_amdgcn_sched_barrier(0);
#endif
  sync_block();
  __builtin_amdgcn_sched_barrier(0);
}

/// The lower, and the upper, 16 bits of two words, those of `first` below.
__device__ __forceinline__ u32 lower_halves(u32 first, u32 second) {
  return __builtin_amdgcn_perm(second, first, 0x05040100);
}
__device__ __forceinline__ u32 upper_halves(u32 first, u32 second) {
  return __builtin_amdgcn_perm(second, first, 0x07060302);
}

/// A lane's sums of a product: four of one column.
using Sums4 = f32 __attribute__((ext_vector_type(4)));

/// Vectors of elements as the instructions take them. The older ones, and hiprtc 5, have no bf16.
template <typename Value, int count>
using ValueVector = Value __attribute__((ext_vector_type(count)));

template <typename T>
struct MatrixCore;

#if defined(__gfx950__)

template <>
struct MatrixCore<f16> {
  __device__ __forceinline__ static Sums4 multiply(Bits<16> a, Bits<16> b, Sums4 sums) {
    using Values = ValueVector<_Float16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(Values, a), __builtin_bit_cast(Values, b), sums, 0,
                                                  0, 0);
  }
};
template <>
struct MatrixCore<bf16> {
  __device__ __forceinline__ static Sums4 multiply(Bits<16> a, Bits<16> b, Sums4 sums) {
    using Values = ValueVector<__bf16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Values, a), __builtin_bit_cast(Values, b), sums,
                                                   0, 0, 0);
  }
};
/// Twice as many elements, in two instructions, the first for the lower half of every lane's.
template <>
struct MatrixCore<e4m3> {
  __device__ __forceinline__ static Sums4 multiply(Bits<16> a, Bits<16> b, Sums4 sums) {
    using Two = ValueVector<long, 2>;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(rows[0], columns[0], sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(rows[1], columns[1], sums, 0, 0, 0);
  }
};

#else

/// Half as deep: two instructions, the first for the lower half of every lane's elements.
template <typename Values>
struct Halves {
  Values lower;
  Values upper;
};

template <>
struct MatrixCore<f16> {
  __device__ __forceinline__ static Sums4 multiply(Bits<16> a, Bits<16> b, Sums4 sums) {
    using Two = Halves<ValueVector<_Float16, 4> >;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x16f16(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};
template <>
struct MatrixCore<bf16> {
  __device__ __forceinline__ static Sums4 multiply(Bits<16> a, Bits<16> b, Sums4 sums) {
    using Two = Halves<ValueVector<short, 4> >;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};

#endif

/// sums + a·b by the whole wave: 16 rows, 16 columns, a depth of 32, elements of type T; of 8 bits, of which there are
/// two for each of 16, a depth of 64. Lane l gives eight elements of row l % 16 of a and of column l % 16 of b, at the
/// same depths in both; lanes l, l + 16, l + 32 and l + 48 give the 32 depths among them. It gets rows 4·(l / 16) to
/// 4·(l / 16) + 3 of column l % 16.
template <typename T>
__device__ __forceinline__ Sums4 multiply_16x16x32(Bits<16> a, Bits<16> b, Sums4 sums) {
  return MatrixCore<T>::multiply(a, b, sums);
}

}  // namespace iris::device::platform
