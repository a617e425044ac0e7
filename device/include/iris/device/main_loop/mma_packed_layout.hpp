#pragma once

#include <iris/device/platform.hpp>

namespace iris::device {

/// Who holds what in the main loop of elements of 8 and 16 bits whose rows begin anywhere, on sm_90a: a slice of both
/// operands in shared memory, in places of 16 bytes. An operand that is contiguous along k lies in rows of 128 bytes,
/// the slice's depth; a row-major B in rows as wide as the tile. A warp multiplies 32 bytes of depth at a time.
///
/// It reads four times eight places at once, of which each lane names one. Those of eight lanes come from different
/// banks, since behind each row there is room for one more place.
struct PackedLayout {
  static constexpr int place_bytes = 16;
  static constexpr int row_bytes = 128;
  static constexpr int products = row_bytes / (2 * place_bytes);  // of a slice, one after another

  /// From a row of so many bytes, a multiple of 128, to the next.
  __device__ static constexpr int stride(int bytes) { return bytes + place_bytes; }

  /// The byte at which a place begins.
  template <int bytes = row_bytes>
  __device__ static constexpr int place(int row, int number) {
    return row * stride(bytes) + number * place_bytes;
  }

  /// What a lane names of an operand that is contiguous along k: of 16 rows of A, first the upper and then the lower
  /// eight, of one place and then of the next; of 16 columns of B both places of the first eight, then of the others.
  struct Place {
    int row;
    int number;
  };
  __device__ static constexpr Place of_a(int lane, int product) { return {lane % 16, product * 2 + lane / 16}; }
  __device__ static constexpr Place of_b(int lane, int product) {
    return {lane / 16 * 8 + lane % 8, product * 2 + lane / 8 % 2};
  }
  /// Of a row-major B of 16 bits: sixteen depths of eight columns, then of the next eight.
  __device__ static constexpr Place of_row_major_b(int lane, int product) {
    return {product * 16 + lane % 16, lane / 16};
  }
};

}  // namespace iris::device
