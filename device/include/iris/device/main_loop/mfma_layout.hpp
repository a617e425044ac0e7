#pragma once

#include <iris/device/platform.hpp>

namespace iris::device {

/// Who holds what in the main loop of AMD's matrix cores: a slice of both operands in shared memory, without padding,
/// in places of 16 bytes: elements along k of one row of A, or of one column of B.
///
/// Threads that read or write at the same time come to different banks, of which there are 32 of 4 bytes: eight threads
/// with 16 bytes each, or sixteen with 8 bytes.
struct WaveLayout {
  static constexpr int wave_threads = 64;
  static constexpr int wave_columns = 64;  // that a wave multiplies
  static constexpr int side = 16;          // of the product of one instruction
  static constexpr int place_bytes = 16;
  static constexpr int chunks = 4;     // places along k that the lanes of a wave hold of an operand
  static constexpr int lane_sums = 8;  // of two products, side by side

  /// Elements of such a size in a place, and along k in a slice.
  template <int bytes>
  static constexpr int width_of = place_bytes / bytes;
  template <int bytes>
  static constexpr int depth_of = chunks * place_bytes / bytes;

  static constexpr int width = width_of<2>;
  static constexpr int depth = depth_of<2>;
  static constexpr int block_rows = 4;  // of a B of 16 bits that a thread transposes, one place wide

  /// The place of elements along k, chunk `chunk` of a slice, of one of `count` rows of A, or columns of B as
  /// column_place() has them. Sixteen neighbours of one chunk, which a wave reads together, lie side by side.
  template <int count>
  __device__ static constexpr int place_of(int row, int chunk) {
    return chunk * count + (row ^ (row / 8 % 2 + row / 32 % 2 * 2) ^ chunk * 2);
  }

  /// The columns of B in the order of the lanes that multiply them, such that a lane gets its eight sums of two
  /// products side by side in a row of the result. Of a product, four lanes have four columns each: together, or, where
  /// sums are of 8 bytes, in turn.
  template <int sum_bytes = 4>
  __device__ static constexpr int column_place(int column) {
    const int product = column / 4 % 2;
    const int lane = column / 8 % 4;
    const int sum = column % 4;
    return column / 32 * 32 + product * 16 + (sum_bytes == 8 ? sum * 4 + lane : lane * 4 + sum);
  }

  /// Where the block that a thread transposes begins in a slice of B, tile_n wide. Eight neighbours read 128 bytes of
  /// each row; the eight after them, four rows below, write to the other halves of the same places.
  template <int tile_n>
  __device__ static constexpr int block_row(int thread) {
    return thread / (16 * (tile_n / wave_columns)) * width + thread / 8 % 2 * block_rows;
  }
  template <int tile_n>
  __device__ static constexpr int block_column(int thread) {
    return thread / 16 % (tile_n / wave_columns) * wave_columns + thread % 8 * width;
  }

  /// Where the square of wider elements begins, as many rows as columns, that comes `number`-th in a row of them. Eight
  /// neighbours write elements of 4 bytes to different banks, of 8 bytes two at a time to the same one.
  template <int bytes>
  __device__ static constexpr int square_column(int number) {
    const int in_order = bytes == 4 ? number % 8 * 2 + number / 8 % 2 : number % 4 * 4 + number / 4 % 4;
    return (number / 16 * 16 + in_order) * width_of<bytes>;
  }
};

}  // namespace iris::device
