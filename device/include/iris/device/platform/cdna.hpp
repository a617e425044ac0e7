#pragma once

#include <iris/device/numeric.hpp>
#include <iris/device/platform/fnuz.hpp>

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

/// Vectors of elements as the instructions take them. The older ones, and hiprtc 5, have no bf16.
template <typename Value, int count>
using ValueVector = Value __attribute__((ext_vector_type(count)));

/// A lane's sums of a product: four of one column.
template <typename Sum>
using Sums4 = ValueVector<Sum, 4>;

/// The cores take the elements as they are stored, and sums are what they are.
struct TakesElementsAsStored {
  __device__ __forceinline__ static Bits<16> operand(Bits<16> elements) { return elements; }
  static constexpr f32 unit_of_sums = 1;
};

/// Elements of type T in the matrix cores: operand() is what multiply() takes for them, whose sums are multiples of
/// unit_of_sums.
template <typename T>
struct MatrixCore;

/// A lane's elements, where it takes two instructions, the first for the lower half of every lane's.
template <typename Values>
struct Halves {
  Values lower;
  Values upper;
};

#if defined(__gfx950__)

template <>
struct MatrixCore<f16> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Values = ValueVector<_Float16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(Values, a), __builtin_bit_cast(Values, b), sums, 0,
                                                  0, 0);
  }
};
template <>
struct MatrixCore<bf16> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Values = ValueVector<__bf16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Values, a), __builtin_bit_cast(Values, b), sums,
                                                   0, 0, 0);
  }
};
#else

template <>
struct MatrixCore<f16> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Two = Halves<ValueVector<_Float16, 4> >;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x16f16(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};
template <>
struct MatrixCore<bf16> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Two = Halves<ValueVector<short, 4> >;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};

#endif

#if defined(__gfx942__)
struct OperandsOf8Bits {
  __device__ __forceinline__ static Bits<16> operand(Bits<16> elements) {
#pragma unroll
    for (int i = 0; i < 4; ++i) elements[i] = halved_as_fnuz(elements[i]);
    return elements;
  }
  static constexpr f32 unit_of_sums = 4;
};
#else
using OperandsOf8Bits = TakesElementsAsStored;
#endif

#if !defined(__gfx90a__)
template <>
struct MatrixCore<e4m3> : OperandsOf8Bits {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Two = Halves<long>;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};
#endif

/// A quarter as deep: four instructions.
template <>
struct MatrixCore<f32> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Values = ValueVector<f32, 4>;
    const Values rows = __builtin_bit_cast(Values, a);
    const Values columns = __builtin_bit_cast(Values, b);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums = __builtin_amdgcn_mfma_f32_16x16x4f32(rows[i], columns[i], sums, 0, 0, 0);
    }
    return sums;
  }
};

/// What the cores of gfx942 are given as XF32, which has tf32's fields, they would cut off. The others multiply it as
/// f32.
template <>
struct MatrixCore<tf32> {
  __device__ __forceinline__ static Bits<16> operand(Bits<16> elements) {
#pragma unroll
    for (int i = 0; i < 4; ++i) elements[i] = rounded_to_tf32(elements[i]);
    return elements;
  }
  static constexpr f32 unit_of_sums = 1;

#if defined(__gfx942__)
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    using Two = Halves<ValueVector<f32, 2> >;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x8_xf32(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x8_xf32(rows.upper, columns.upper, sums, 0, 0, 0);
  }
#else
  __device__ __forceinline__ static Sums4<f32> multiply(Bits<16> a, Bits<16> b, Sums4<f32> sums) {
    return MatrixCore<f32>::multiply(a, b, sums);
  }
#endif
};

template <>
struct MatrixCore<f64> : TakesElementsAsStored {
  __device__ __forceinline__ static Sums4<f64> multiply(Bits<16> a, Bits<16> b, Sums4<f64> sums) {
    using Two = Halves<f64>;
    const Two rows = __builtin_bit_cast(Two, a);
    const Two columns = __builtin_bit_cast(Two, b);
    sums = __builtin_amdgcn_mfma_f64_16x16x4f64(rows.lower, columns.lower, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f64_16x16x4f64(rows.upper, columns.upper, sums, 0, 0, 0);
  }
};

/// sums + a·b by the whole wave: 16 rows, 16 columns, a depth of 64 bytes, elements of type T. Both are operands of
/// MatrixCore<T>. Lane l gives 16 bytes of row l % 16 of a and of column l % 16 of b, at the same depths in both; lanes
/// l, l + 16, l + 32 and l + 48 give the 64 bytes among them. Of column l % 16 it gets rows 4·(l / 16) to 4·(l / 16) +
/// 3; where sums are in f64, rows l / 16, l / 16 + 4, l / 16 + 8 and l / 16 + 12.
template <typename T, typename Sum>
__device__ __forceinline__ Sums4<Sum> multiply_64_bytes(Bits<16> a, Bits<16> b, Sums4<Sum> sums) {
  return MatrixCore<T>::multiply(a, b, sums);
}

}  // namespace iris::device::platform
