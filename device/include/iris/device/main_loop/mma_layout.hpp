#pragma once

#include <iris/device/platform.hpp>

namespace iris::device {

/// Who holds what in the main loop of f64 on sm_90a: a slice of both operands in shared memory, 16 deep. An operand
/// that is contiguous along k lies in rows as long as that, a row-major B in rows as wide as the tile.
///
/// A slice is four products deep. Of each, a lane multiplies depth lane % 4 of rows, or columns, that begin at
/// lane / 4. Four elements of padding behind each row let sixteen threads that read 8 bytes each come to different
/// banks.
struct WarpLayout {
  static constexpr int depth = 16;
  static constexpr int product_depth = 4;
  static constexpr int products = depth / product_depth;  // of a slice, one after another
  static constexpr int padding = 4;
  static constexpr int row = depth + padding;  // from a row of what is contiguous along k to the next

  template <int tile_n>
  static constexpr int row_of_b = tile_n + padding;  // and of a row-major B
};

}  // namespace iris::device
