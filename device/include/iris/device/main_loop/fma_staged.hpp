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
    static constexpr int at_once = 8;

    __device__ __forceinline__ f32* place_of_a(int row, int k) { return &this->a[k][row]; }
    __device__ __forceinline__ f32* place_of_b(int k, int column) { return &this->b[k][column]; }
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Fragment<Config> sums = {};
    with_slices<Config, Stage<Config>>(a.matrix, b.matrix, origin, [&](auto& slices) { accumulate(sums, slices); });
    store_at(place, [&](const auto& to) { store_tile<Config>(to, sums); });
  }

 private:
  /// Factors are loaded one depth ahead of those that are multiplied, also into the next slice.
  template <typename Config, typename AllSlices>
  __device__ __forceinline__ static void accumulate(Fragment<Config>& sums, AllSlices& slices) {
    constexpr int depth = Config::tile_k;
    static_assert(depth % 2 == 0, "two sets of factors take turns");
    Factors<Config> factors[2];
    const Stage<Config>* stage = &slices.next();
    factors[0].load(*stage, 0);
#pragma unroll 1
    for (i64 slice = 0; slice < slices.count(); ++slice) {
      slices.copy_next();
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        if (k + 1 == depth) stage = &slices.next();
        factors[(k + 1) % 2].load(*stage, (k + 1) % depth);
        multiply_accumulate(sums, factors[k % 2]);
      }
    }
  }
};

}  // namespace iris::device
