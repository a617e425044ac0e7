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
    static_assert(Config::tile_k == WarpLayout::depth, "a slice is as deep as its products");
    static constexpr int depth = WarpLayout::depth;
    static constexpr int most_along_k = 2;
    static constexpr bool along_k = Config::LayoutB::contiguous_along_k;
    // From an element of b to the next along k, and to that of the next column.
    static constexpr int next_k = along_k ? 1 : row_of_b<Config::tile_n>;
    static constexpr int next_column = along_k ? row : 1;

    alignas(128) f64 a[Config::tile_m * row];
    alignas(128) f64 b[along_k ? Config::tile_n * row : depth * row_of_b<Config::tile_n>];

    __device__ __forceinline__ f64* place_of_a(int of_row, int k) { return a + of_row * row + k; }
    __device__ __forceinline__ f64* place_of_b(int k, int column) { return b + k * next_k + column * next_column; }
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Sums<Config> sums = {};
    with_slices<Config, Stage<Config>>(a.matrix, b.matrix, origin, [&](auto& slices) {
      for_each_step<Factors<Config>, products>(slices, [&](const auto& factors) { factors.add_product_to(sums); });
    });
    store_at(place, [&](const auto& to) { sums.store(to); });
  }

 private:
  /// What a lane multiplies in one product, in registers.
  template <typename Config>
  struct Factors {
    using Part = Sums<Config>;

    f64 a[Part::down][2];
    f64 b[Part::across];

    __device__ __forceinline__ void load(const Stage<Config>& stage, int product) {
      const int k = product * product_depth + Part::lane() % product_depth;
      const f64* const first_a = stage.a + (Part::first_row() + Part::lane_row()) * row + k;
      const f64* const first_b =
          stage.b + (Part::first_column() + Part::lane_row()) * stage.next_column + k * stage.next_k;
#pragma unroll
      for (int j = 0; j < Part::across; ++j) b[j] = first_b[j * Part::product_columns * stage.next_column];
#pragma unroll
      for (int i = 0; i < Part::down; ++i) {
        a[i][0] = first_a[i * Part::product_rows * row];
        a[i][1] = first_a[(i * Part::product_rows + Part::product_rows / 2) * row];
      }
    }

    __device__ __forceinline__ void add_product_to(Sums<Config>& sums) const {
#pragma unroll
      for (int i = 0; i < Part::down; ++i) {
#pragma unroll
        for (int j = 0; j < Part::across; ++j) platform::multiply_16x8x4(sums.values[i][j], a[i], b[j]);
      }
    }
  };
};

}  // namespace iris::device
