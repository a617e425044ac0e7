#pragma once

#include <iris/device/platform.hpp>

namespace iris::device {

/// Who holds what in the main loop of AMD's matrix cores: a slice of both operands in shared memory, without padding,
/// in places of 16 bytes: eight elements along k of one row of A, or of one column of B.
///
/// Threads that read or write at the same time come to different banks, of which there are 32 of 4 bytes: eight threads
/// with 16 bytes each, or sixteen with 8 bytes.
struct WaveLayout {
  static constexpr int wave_threads = 64;
  static constexpr int wave_columns = 64;  // that a wave multiplies
  static constexpr int side = 16;          // of the product of one instruction
  static constexpr int depth = 32;         // of what the lanes of a wave hold of an operand
  static constexpr int width = 8;          // elements in a pack of 16 bytes
  static constexpr int chunks = depth / width;
  static constexpr int block_rows = 4;  // of B that a thread transposes, one pack wide

  /// The place of eight elements along k, chunk `chunk` of a slice, of one of `count` rows of A, or columns of B as
  /// column_place() has them. Sixteen neighbours of one chunk, which a wave reads together, lie side by side.
  template <int count>
  __device__ static constexpr int place_of(int row, int chunk) {
    return chunk * count + (row ^ (row / 8 % 2 + row / 32 % 2 * 2) ^ chunk * 2);
  }

  /// The columns of B in the order of the lanes that multiply them, such that a lane gets its eight sums of two
  /// products side by side in a row of the result.
  __device__ static constexpr int column_place(int column) {
    return column / 32 * 32 + column / 4 % 2 * 16 + column / 8 % 4 * 4 + column % 4;
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
};

}  // namespace iris::device
