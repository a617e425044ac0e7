#pragma once

#include <iris/device/platform.hpp>

namespace iris::device {

/// Who holds what in the main loop of f64 on sm_90a: a slice of both operands in shared memory, 16 deep, in places of
/// 16 bytes, two elements each. An operand that is contiguous along k lies in rows of 128 bytes; a row-major B in rows
/// as wide as the tile.
///
/// A slice is two products deep. A lane multiplies depths 4·t to 4·t + 3, t = lane % 4, two in each product, of rows,
/// or columns, that begin at lane / 4. Threads that read or write at the same time come to different banks: eight
/// threads with 16 bytes each, or sixteen with 8 bytes.
struct WarpLayout {
  static constexpr int depth = 16;
  static constexpr int in_place = 2;
  static constexpr int places = depth / in_place;  // of a row along k
  static constexpr int lane_depth = 4;
  static constexpr int products = lane_depth / in_place;  // of a slice, one after another

  /// The first element of a place of one row of an operand that is contiguous along k.
  __device__ static constexpr int place_along_k(int row, int place) {
    return row * depth + (place ^ row % 2) * in_place;
  }

  /// And of a place of one row of a row-major B, tile_n columns wide.
  template <int tile_n>
  __device__ static constexpr int place_along_n(int k, int place) {
    return k * tile_n + (place ^ k / lane_depth * 2) * in_place;
  }
};

}  // namespace iris::device
