#pragma once

#include <iris/device/main_loop/mma_layout.hpp>
#include <iris/device/main_loop/staged.hpp>
#include <iris/device/main_loop/tile_by_tile.hpp>
#include <iris/device/platform/ampere.hpp>

/// The main loop of f64 on sm_90a's matrix units, of any size.
///
/// Slices of both operands, tile_k deep, come in stages; each warp multiplies 32 columns of the tile. Rows that are no
/// multiple of 16 bytes are copied element by element.
///
/// Config names threads, tile_m, tile_n, tile_k (16), LayoutB, Element, Result and Accumulate.
namespace iris::device {

struct WarpMma : TileByTile<WarpMma>, private WarpLayout {
  static constexpr int warp_threads = 32;
  static constexpr int warp_columns = 32;
  static constexpr int product_rows = 16;
  static constexpr int product_columns = 8;

  template <typename Config>
  struct Shape {
    static_assert(sizeof(typename Config::Element) == 8 && sizeof(typename Config::Accumulate) == 8,
                  "f64 is summed in f64");
    static_assert(Config::tile_k == depth, "a slice is as deep as two products");
    static constexpr int warps_across = Config::tile_n / warp_columns;
    static constexpr int warps_down = Config::threads / warp_threads / warps_across;
    static constexpr int warp_rows = Config::tile_m / warps_down;
    static_assert(warps_down * warps_across * warp_threads == Config::threads &&
                      warps_down * warp_rows == Config::tile_m && warp_rows % product_rows == 0,
                  "the tile cannot be distributed to the warps in equal parts");
  };

  template <typename Config>
  struct Stage {
    using Element = f64;
    static constexpr int depth = WarpLayout::depth;
    static constexpr int most_along_k = in_place;
    static constexpr int at_once = 2;  // the sums take most registers

    alignas(128) f64 a[Config::tile_m * depth];
    alignas(128) f64 b[Config::tile_n * depth];

    __device__ __forceinline__ f64* place_of_a(int row, int k) {
      return a + place_along_k(row, k / in_place) + k % in_place;
    }
    __device__ __forceinline__ f64* place_of_b(int k, int column) {
      if constexpr (Config::LayoutB::contiguous_along_k) {
        return b + place_along_k(column, k / in_place) + k % in_place;
      } else {
        return b + place_along_n<Config::tile_n>(k, column / in_place) + column % in_place;
      }
    }
  };

  /// A warp's sums of 16 × 8 at a time.
  template <typename Config>
  struct Sums {
    f64 values[Shape<Config>::warp_rows / product_rows][warp_columns / product_columns][4];
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Sums<Config> sums = {};
    with_slices<Config, Stage<Config>>(a.matrix, b.matrix, origin, [&](auto& slices) {
#pragma unroll 1
      for (i64 slice = 0; slice < slices.count(); ++slice) {
        const Stage<Config>& stage = slices.next();
        slices.copy_next();
        accumulate<Config>(sums, stage);
      }
    });
    store_at(place, [&](const auto& to) {
      if (to.matrix.takes_packs(2)) {
        store<2, Config>(to, sums);
      } else {
        store<1, Config>(to, sums);
      }
    });
  }

 private:
  /// The first row, and column, of the tile that the calling thread's warp multiplies.
  template <typename Config>
  __device__ __forceinline__ static int first_row() {
    return thread_index() / warp_threads / Shape<Config>::warps_across * Shape<Config>::warp_rows;
  }
  template <typename Config>
  __device__ __forceinline__ static int first_column() {
    return thread_index() / warp_threads % Shape<Config>::warps_across * warp_columns;
  }
  __device__ __forceinline__ static int group() { return thread_index() % warp_threads / 4; }
  __device__ __forceinline__ static int in_group() { return thread_index() % 4; }

  /// A lane's two depths of a product, of one row of an operand that is contiguous along k;
  __device__ __forceinline__ static void read_along_k(f64 (&values)[in_place], const f64* operand, int row,
                                                      int product) {
    const f64* const place = operand + place_along_k(row, in_group() * products + product);
    const auto two = *reinterpret_cast<const Pack<f64, in_place>*>(place);
    values[0] = two[0];
    values[1] = two[1];
  }
  /// and of one column of a row-major B.
  template <typename Config>
  __device__ __forceinline__ static void read_along_n(f64 (&values)[in_place], const f64* operand, int column,
                                                      int product) {
#pragma unroll
    for (int i = 0; i < in_place; ++i) {
      const int k = in_group() * lane_depth + product * in_place + i;
      values[i] = operand[place_along_n<Config::tile_n>(k, column / in_place) + column % in_place];
    }
  }

  /// sums += a·b of the slice.
  template <typename Config>
  __device__ __forceinline__ static void accumulate(Sums<Config>& sums, const Stage<Config>& stage) {
    constexpr int columns = warp_columns / product_columns;
#pragma unroll 1  // the loads of both at once would take too many registers
    for (int product = 0; product < products; ++product) {
      f64 b[columns][in_place];
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const int column = first_column<Config>() + j * product_columns + group();
        if constexpr (Config::LayoutB::contiguous_along_k) {
          read_along_k(b[j], stage.b, column, product);
        } else {
          read_along_n<Config>(b[j], stage.b, column, product);
        }
      }
#pragma unroll
      for (int i = 0; i < Shape<Config>::warp_rows / product_rows; ++i) {
        f64 upper[in_place];
        f64 lower[in_place];
        const int row = first_row<Config>() + i * product_rows + group();
        read_along_k(upper, stage.a, row, product);
        read_along_k(lower, stage.a, row + product_rows / 2, product);
        const f64 a[4] = {upper[0], lower[0], upper[1], lower[1]};
#pragma unroll
        for (int j = 0; j < columns; ++j) platform::multiply_16x8x8(sums.values[i][j], a, b[j]);
      }
    }
  }

  /// Writes what lies inside the place's matrix; `width` elements, 1 or 2, in one access, which the matrix takes.
  template <int width, typename Config, typename Place>
  __device__ __forceinline__ static void store(const Place& place, const Sums<Config>& sums) {
    using Result = typename Place::Result;
    const auto& to = place.matrix;
#pragma unroll
    for (int i = 0; i < Shape<Config>::warp_rows / product_rows; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 row = first_row<Config>() + i * product_rows + half * (product_rows / 2) + group();
#pragma unroll
        for (int j = 0; j < warp_columns / product_columns; ++j) {
#pragma unroll
          for (int k = 0; k < 2; k += width) {
            const i64 column = first_column<Config>() + j * product_columns + in_group() * 2 + k;
            if (place.origin.row + row >= to.rows || place.origin.column + column >= to.columns) continue;
            Pack<Result, width> pack;
#pragma unroll
            for (int lane = 0; lane < width; ++lane) {
              pack[lane] = place.finish(row, column + lane, sums.values[i][j][half * 2 + k + lane]);
            }
            store_pack(to.data + (place.origin.row + row) * to.stride + place.origin.column + column, pack);
          }
        }
      }
    }
  }
};

}  // namespace iris::device
