#pragma once

#include <iris/device/main_loop/mma_packed_layout.hpp>
#include <iris/device/main_loop/mma_sums.hpp>
#include <iris/device/main_loop/realigned.hpp>
#include <iris/device/main_loop/tile_by_tile.hpp>

/// The main loop of f16, bf16 and, where both operands are contiguous along k, e4m3 on sm_90a whose rows begin
/// anywhere, which tensor copies do not take. Sums are in f32.
///
/// Slices of both operands, tile_k deep, come in stages, shifted into place on their way where rows are no multiple of
/// 16 bytes; each warp multiplies 32 columns of the tile.
///
/// Config names threads, tile_m, tile_n, tile_k, LayoutB, Element, Result and Accumulate.
namespace iris::device {

struct PackedWarpMma : TileByTile<PackedWarpMma>, private PackedLayout {
  template <typename Config>
  using Sums = WarpSums<Config, 32>;

  template <typename Config>
  struct Stage {
    using Element = typename Config::Element;
    static_assert(sizeof(typename Config::Accumulate) == 4, "sums are in f32");
    static_assert(Config::tile_k * sizeof(Element) == row_bytes, "a slice is as deep as a row of shared memory");
    static_assert(sizeof(Element) == 2 || (sizeof(Element) == 1 && Config::LayoutB::contiguous_along_k),
                  "elements of 8 bits cannot be transposed on their way to the matrix units");
    static constexpr int depth = Config::tile_k;
    static constexpr int in_place = place_bytes / sizeof(Element);
    static constexpr int most_along_k = in_place;
    static constexpr bool along_k = Config::LayoutB::contiguous_along_k;
    static constexpr int row_bytes_of_b = along_k ? row_bytes : Config::tile_n * static_cast<int>(sizeof(Element));
    static constexpr int rows_of_b = along_k ? Config::tile_n : depth;

    alignas(128) unsigned char a[Config::tile_m * stride(row_bytes)];
    alignas(128) unsigned char b[rows_of_b * stride(row_bytes_of_b)];

    __device__ __forceinline__ Element* place_of_a(int row, int k) {
      return reinterpret_cast<Element*>(a + place(row, k / in_place)) + k % in_place;
    }
    __device__ __forceinline__ Element* place_of_b(int k, int column) {
      const int row = along_k ? column : k;
      const int in_row = along_k ? k : column;
      return reinterpret_cast<Element*>(b + place<row_bytes_of_b>(row, in_row / in_place)) + in_row % in_place;
    }
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Sums<Config> sums = {};
    multiply_slices<Stage<Config>::in_place, Config>(sums, a.matrix, b.matrix, origin);
    if constexpr (Scales<typename Config::Element>::are_there) sums.multiply_by(b.scales.product());
    store_at(place, [&](const auto& to) { sums.store(to); });
  }

 private:
  /// sums += a·b, in slices that are copied by `width` elements at a time, or by as many as both matrices take.
  template <int width, typename Config>
  __device__ __forceinline__ static void multiply_slices(Sums<Config>& sums,
                                                         const Matrix<const typename Config::Element>& a,
                                                         const Matrix<const typename Config::Element>& b,
                                                         const TileOrigin& origin) {
    constexpr int least_bytes = 4;  // that are copied without passing through registers
    if (a.takes_packs(width) && b.takes_packs(width)) {
      Slices<Config, Stage<Config>, width> slices(a, b, origin);
      accumulate_all<Config>(sums, slices);
    } else if constexpr (width * sizeof(typename Config::Element) > least_bytes) {
      multiply_slices<width / 2, Config>(sums, a, b, origin);
    } else {
      RealignedSlices<Config, Stage<Config>> slices(a, b, origin);
      accumulate_all<Config>(sums, slices);
    }
  }

  /// Elements of 8 bits are widened in registers, of which realigned slices leave enough for one set of factors.
  template <typename Config, typename AllSlices>
  __device__ __forceinline__ static void accumulate_all(Sums<Config>& sums, AllSlices& slices) {
    constexpr bool widened = sizeof(typename Config::Element) == 1;
    constexpr int at_once = !widened ? products : AllSlices::asynchronous ? 2 : 1;
    for_each_step<Factors<Config>, products, at_once>(slices,
                                                      [&](const auto& factors) { factors.add_product_to(sums); });
  }

  /// What a lane multiplies in one product, in registers.
  template <typename Config>
  struct Factors {
    using Part = Sums<Config>;

    u32 a[Part::down][4];
    u32 b[Part::across / 2][4];  // of two products side by side

    __device__ __forceinline__ void load(const Stage<Config>& stage, int product) {
#pragma unroll
      for (int j = 0; j < Part::across / 2; ++j) {
        read_b<Config>(b[j], stage.b, Part::first_column() + j * 2 * Part::product_columns, Part::lane(), product);
      }
      const Place of_lane = of_a(Part::lane(), product);
#pragma unroll
      for (int i = 0; i < Part::down; ++i) {
        const int row = Part::first_row() + i * Part::product_rows + of_lane.row;
        platform::load_matrices(a[i], stage.a + place(row, of_lane.number));
      }
    }

    __device__ __forceinline__ void add_product_to(Sums<Config>& sums) const {
#pragma unroll
      for (int i = 0; i < Part::down; ++i) {
#pragma unroll
        for (int j = 0; j < Part::across; ++j) {
          platform::multiply_16x8<typename Config::Element>(sums.values[i][j], a[i], b[j / 2][j % 2 * 2],
                                                            b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  };

  template <typename Config>
  __device__ __forceinline__ static void read_b(u32 (&words)[4], const unsigned char* b, int column, int lane,
                                                int product) {
    if constexpr (Config::LayoutB::contiguous_along_k) {
      const Place of_lane = of_b(lane, product);
      platform::load_matrices(words, b + place(column + of_lane.row, of_lane.number));
    } else {
      const Place of_lane = of_row_major_b(lane, product);
      const int number = column / Stage<Config>::in_place + of_lane.number;
      platform::load_transposed(words, b + place<Stage<Config>::row_bytes_of_b>(of_lane.row, number));
    }
  }
};

}  // namespace iris::device
