#pragma once

#include <iris/device/pack.hpp>
#include <iris/device/platform.hpp>

namespace iris::device {

/// A warp's part of a tile's sums, 16 × 8 at a time, as products of whole warps have them on sm_90a: warp_columns of
/// the tile's columns, and as many rows as the warps that lie below each other leave.
///
/// Config names threads, tile_m, tile_n and Accumulate.
template <typename Config, int warp_columns>
struct WarpSums {
  static constexpr int warp_threads = 32;
  static constexpr int product_rows = 16;
  static constexpr int product_columns = 8;
  static constexpr int warps_across = Config::tile_n / warp_columns;
  static constexpr int warps_down = Config::threads / warp_threads / warps_across;
  static constexpr int warp_rows = Config::tile_m / warps_down;
  static_assert(warps_down * warps_across * warp_threads == Config::threads &&
                    warps_down * warp_rows == Config::tile_m && warp_rows % product_rows == 0,
                "the tile cannot be distributed to the warps in equal parts");
  static constexpr int down = warp_rows / product_rows;
  static constexpr int across = warp_columns / product_columns;

  typename Config::Accumulate values[down][across][4];

  /// The first row, and column, of the tile that the calling thread's warp multiplies.
  __device__ __forceinline__ static int first_row() { return thread_index() / warp_threads / warps_across * warp_rows; }
  __device__ __forceinline__ static int first_column() {
    return thread_index() / warp_threads % warps_across * warp_columns;
  }
  __device__ __forceinline__ static int lane() { return thread_index() % warp_threads; }
  /// Lanes hold rows lane_row() and lane_row() + 8, and columns lane_column() and lane_column() + 1 of 16 × 8 sums.
  __device__ __forceinline__ static int lane_row() { return lane() / 4; }
  __device__ __forceinline__ static int lane_column() { return lane() % 4 * 2; }

  __device__ __forceinline__ void multiply_by(typename Config::Accumulate factor) {
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) {
#pragma unroll
        for (auto& value : values[i][j]) value *= factor;
      }
    }
  }

  /// Writes what lies inside the place's matrix.
  template <typename Place>
  __device__ __forceinline__ void store(const Place& place) const {
    if (place.matrix.takes_packs(2)) {
      store_packs<2>(place);
    } else {
      store_packs<1>(place);
    }
  }

 private:
  /// `width` elements, 1 or 2, in one access, which the matrix takes.
  template <int width, typename Place>
  __device__ __forceinline__ void store_packs(const Place& place) const {
    const auto& to = place.matrix;
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 row = first_row() + i * product_rows + half * (product_rows / 2) + lane_row();
#pragma unroll
        for (int j = 0; j < across; ++j) {
#pragma unroll
          for (int k = 0; k < 2; k += width) {
            const i64 column = first_column() + j * product_columns + lane_column() + k;
            if (place.origin.row + row >= to.rows || place.origin.column + column >= to.columns) continue;
            Pack<typename Place::Result, width> pack;
#pragma unroll
            for (int lane = 0; lane < width; ++lane) {
              pack[lane] = place.finish(row, column + lane, values[i][j][half * 2 + k + lane]);
            }
            store_pack(to.data + (place.origin.row + row) * to.stride + place.origin.column + column, pack);
          }
        }
      }
    }
  }
};

}  // namespace iris::device
