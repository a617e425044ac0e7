#pragma once

#include <iris/device/main_loop/tiles.hpp>

namespace iris::device {

/// What main loops share in which all threads of a block work on one tile after another and read the operands where
/// they lie. `Loop` derives from it and has
///
///     template <typename Config, typename T>
///     static void multiply(const Matrix<const Element>& a, const Matrix<const Element>& b, const TileOrigin& origin,
///                          const TilePlace<T>& place)
///
/// by which the whole block multiplies a tile and stores it.
template <typename Loop>
struct TileByTile {
  /// What the host prepares for an operand: nothing.
  struct Map {};

  template <typename Config>
  struct Operand {
    Matrix<const typename Config::Element> matrix;

    /// The rows from `row` on, `count` of them.
    __device__ __forceinline__ Operand rows(i64 row, i64 count) const {
      return {{matrix.data + row * matrix.stride, count, matrix.columns, matrix.stride}};
    }
    /// Number `index` of several such matrices that lie `elements` apart.
    __device__ __forceinline__ Operand slot(i64 index, i64 elements) const {
      return {{matrix.data + index * elements, matrix.rows, matrix.columns, matrix.stride}};
    }
  };

  template <typename Config>
  __device__ __forceinline__ static Operand<Config> operand(Map, const Matrix<const typename Config::Element>& matrix) {
    return {matrix};
  }
  template <typename Config>
  __device__ __forceinline__ static Operand<Config> operand(Map, const Launch<Config>&,
                                                            const Matrix<const typename Config::Element>& matrix) {
    return {matrix};
  }

  template <typename Config, typename Tiles>
  __device__ __forceinline__ static bool run(const Tiles& tiles, i64 first, i64 stride) {
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      if (!sync_block_and(tiles.wait(tile, block_threads<Config>()))) return false;
      const auto product = tiles.product(tile);
      Loop::template multiply<Config>(product.a.matrix, product.b.matrix, product.origin, tiles.place(tile));
      sync_block_after_stores();
      if (thread_index() == 0) tiles.tell(tile);
      if (!tiles.completes(tile)) continue;
      if (!sync_block_and(tiles.wait_to_complete(tile, block_threads<Config>()))) return false;
      tiles.complete(tile, block_threads<Config>());
    }
    return true;
  }
};

}  // namespace iris::device
