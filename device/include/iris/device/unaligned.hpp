#pragma once

#include <iris/device/tile.hpp>

/// Reading what begins at any element, in accesses of 16 bytes: the aligned ones that hold it, shifted into place.
namespace iris::device {

/// Bytes of one access.
inline constexpr int piece_bytes = 16;

/// Those of an element, behind zeros.
template <typename T>
__device__ __forceinline__ u64 element_bits(const T& element) {
  if constexpr (sizeof(T) == 1) {
    return __builtin_bit_cast(u8, element);
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(unsigned short, element);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(u32, element);
  } else {
    return __builtin_bit_cast(u64, element);
  }
}

/// The 16 bytes at `from`, which is aligned to as many. What lies at `end`, where an element of T would begin, or
/// behind it is not read: it is 0.
template <typename T>
__device__ __forceinline__ Pack<u32, 4> load_piece(const unsigned char* from, const unsigned char* end) {
  if (from + piece_bytes <= end) return load_pack<4>(reinterpret_cast<const u32*>(from));
  u64 first = 0;
  u64 second = 0;
#pragma unroll 1
  for (int begin = 0; from + begin < end; begin += sizeof(T)) {
    const u64 bits = element_bits(load_pack<1>(reinterpret_cast<const T*>(from + begin))[0]);
    first |= begin < 8 ? bits << begin * 8 : 0;
    second |= begin < 8 ? 0 : bits << (begin - 8) * 8;
  }
  return {{static_cast<u32>(first), static_cast<u32>(first >> 32), static_cast<u32>(second),
           static_cast<u32>(second >> 32)}};
}

/// The first `bytes` of 16, zeros in the place of the others.
__device__ __forceinline__ Pack<u32, 4> first_bytes(Pack<u32, 4> piece, i32 bytes) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const i32 left = bytes - word * 4;
    if (left < 4) piece[word] &= left <= 0 ? 0 : (u32{1} << left * 8) - 1;
  }
  return piece;
}

/// A matrix whose rows begin at any element, as if zeros stood around it. The data is aligned to 16 bytes.
template <typename T>
struct UnalignedRows {
  static constexpr int width = piece_bytes / sizeof(T);

  Matrix<const T> matrix;

  /// All loads in flight together.
  template <int count>
  __device__ __forceinline__ Packs<T, width, count> load(const RowPacks<width, count>& at) const {
    const auto* const data = reinterpret_cast<const unsigned char*>(matrix.data);
    const i64 elements = matrix.rows > 0 ? (matrix.rows - 1) * matrix.stride + matrix.columns : 0;
    const unsigned char* const end = data + elements * static_cast<i64>(sizeof(T));
    Pack<u32, 4> words[count][2];
    u32 shift[count];
    i32 bytes[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const i64 left = at.row[i] < matrix.rows ? matrix.columns - at.column[i] : 0;
      bytes[i] = up_to(left, width) * static_cast<i32>(sizeof(T));
      const i64 first = (at.row[i] * matrix.stride + at.column[i]) * static_cast<i64>(sizeof(T));
      shift[i] = static_cast<u32>(first) % piece_bytes;  // where rows are whole pieces, a constant
      const unsigned char* const from = data + (first - shift[i]);
      words[i][0] = {};
      words[i][1] = {};
      if (bytes[i] > 0) words[i][0] = load_piece<T>(from, end);
      if (static_cast<i32>(shift[i]) + bytes[i] > piece_bytes) words[i][1] = load_piece<T>(from + piece_bytes, end);
    }
    Packs<T, width, count> values;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Pack<u32, 4> piece = first_bytes(bytes_from(shift[i], words[i][0], words[i][1]), bytes[i]);
      values.packs[i] = __builtin_bit_cast(Pack<T, width>, piece);
    }
    return values;
  }
};

}  // namespace iris::device
