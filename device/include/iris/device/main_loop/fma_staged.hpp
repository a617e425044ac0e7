#pragma once

#include <iris/device/main_loop/fma.hpp>
#include <iris/device/main_loop/staged.hpp>

/// The main loop of f32 on sm_90a, whose matrix units would round it to tf32: the multiply-adds of main_loop/fma.hpp,
/// of slices that come in stages. Operands that are contiguous along k are transposed on the way, element by element.
///
/// Config names what FusedMultiplyAdd's does.
namespace iris::device {

struct StagedMultiplyAdd : TileByTile<StagedMultiplyAdd> {
  template <typename Config>
  struct Stage : Operands<Config> {
    using Element = f32;
    static constexpr int depth = Config::tile_k;
    static constexpr int most_along_k = 1;

    __device__ __forceinline__ f32* place_of_a(int row, int k) { return &this->a[k][row]; }
    __device__ __forceinline__ f32* place_of_b(int k, int column) { return &this->b[k][column]; }
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Fragment<Config> sums = {};
    with_slices<Config, Stage<Config>>(a.matrix, b.matrix, origin, [&](auto& slices) {
      for_each_step<Factors<Config>, Config::tile_k>(slices,
                                                     [&](const auto& factors) { multiply_accumulate(sums, factors); });
    });
    store_at(place, [&](const auto& to) { store_tile<Config>(to, sums); });
  }
};

}  // namespace iris::device
