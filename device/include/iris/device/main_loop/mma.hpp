#pragma once

#include <iris/device/main_loop/mma_layout.hpp>
#include <iris/device/main_loop/mma_sums.hpp>
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
  template <typename Config>
  using Sums = WarpSums<Config, 32>;

  template <typename Config>
  struct Stage {
    using Element = f64;
    static_assert(sizeof(typename Config::Element) == 8 && sizeof(typename Config::Accumulate) == 8,
                  "f64 is summed in f64");
    static_assert(Config::tile_k == WarpLayout::depth, "a slice is as deep as two products");
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
    store_at(place, [&](const auto& to) { sums.store(to); });
  }

 private:
  /// A lane's two depths of a product, of one row of an operand that is contiguous along k;
  __device__ __forceinline__ static void read_along_k(f64 (&values)[in_place], const f64* operand, int row, int lane,
                                                      int product) {
    const f64* const place = operand + place_along_k(row, lane % 4 * products + product);
    const auto two = *reinterpret_cast<const Pack<f64, in_place>*>(place);
    values[0] = two[0];
    values[1] = two[1];
  }
  /// and of one column of a row-major B.
  template <typename Config>
  __device__ __forceinline__ static void read_along_n(f64 (&values)[in_place], const f64* operand, int column, int lane,
                                                      int product) {
#pragma unroll
    for (int i = 0; i < in_place; ++i) {
      const int k = lane % 4 * lane_depth + product * in_place + i;
      values[i] = operand[place_along_n<Config::tile_n>(k, column / in_place) + column % in_place];
    }
  }

  /// sums += a·b of the slice.
  template <typename Config>
  __device__ __forceinline__ static void accumulate(Sums<Config>& sums, const Stage<Config>& stage) {
    const int lane = sums.lane();
#pragma unroll 1  // the loads of both at once would take too many registers
    for (int product = 0; product < products; ++product) {
      f64 b[Sums<Config>::across][in_place];
#pragma unroll
      for (int j = 0; j < sums.across; ++j) {
        const int column = sums.first_column() + j * sums.product_columns + sums.lane_row();
        if constexpr (Config::LayoutB::contiguous_along_k) {
          read_along_k(b[j], stage.b, column, lane, product);
        } else {
          read_along_n<Config>(b[j], stage.b, column, lane, product);
        }
      }
#pragma unroll
      for (int i = 0; i < sums.down; ++i) {
        f64 upper[in_place];
        f64 lower[in_place];
        const int row = sums.first_row() + i * sums.product_rows + sums.lane_row();
        read_along_k(upper, stage.a, row, lane, product);
        read_along_k(lower, stage.a, row + sums.product_rows / 2, lane, product);
        const f64 a[4] = {upper[0], lower[0], upper[1], lower[1]};
#pragma unroll
        for (int j = 0; j < sums.across; ++j) platform::multiply_16x8x8(sums.values[i][j], a, b[j]);
      }
    }
  }
};

}  // namespace iris::device
