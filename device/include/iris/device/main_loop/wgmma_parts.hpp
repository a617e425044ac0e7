#pragma once

#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/platform/hopper.hpp>

namespace iris::device {

/// Tiles of sm_90a's main loop that several blocks make, by those threads of a block that multiply. Each block adds up
/// some columns, for which its own sums stay in shared memory; it leaves the others' in the cache, whose throughput is
/// what limits all blocks together. Sums lie as threads hold them, in squares of 16 rows and columns, so that every
/// access is one of 16 bytes beside its neighbours'.
template <typename Config>
struct PartsBySquares {
  using Result = typename Config::Result;
  static constexpr int side = 16;
  static constexpr int warps = Config::tile_m / side;
  static constexpr int squares = Config::tile_n / side;                        // of a warp
  static constexpr int share = (squares + Config::parts - 1) / Config::parts;  // of them
  static constexpr int of_square = 8;                                          // sums of a thread
  static constexpr int together = Config::parts > 4   ? 1
                                  : Config::parts > 2 ? 2
                                                      : 4;  // squares whose loads are under way
  static constexpr i64 own_bytes = i64{warps} * share * side * side * sizeof(f32);

  /// `warp` has the rows from 16 · warp on; `own` has room for own_bytes.
  __device__ __forceinline__ static void leave(const TileParts<Config>& parts, f32* own, int warp,
                                               const f32 (&sums)[Config::tile_n / 2]) {
    f32* const others = squares_of(parts, parts.part, warp);
    own += warp * share * side * side;
#pragma unroll
    for (int square = 0; square < squares; ++square) {
#pragma unroll
      for (int i = 0; i < of_square; i += 4) {
        const f32* const values = sums + square * of_square + i;
        const Pack<f32, 4> four = {{values[0], values[1], values[2], values[3]}};
        if (square / share == parts.part) {
          reinterpret_cast<Pack<f32, 4>&>(*four_of(own + square % share * side * side, i)) = four;
        } else {
          store_pack(four_of(others + square * side * side, i), four);
        }
      }
    }
  }

  /// Once the others have left theirs.
  __device__ __forceinline__ static void add_share(const TileParts<Config>& parts, const TilePlace<Config>& place,
                                                   const f32* own, int warp) {
    const int first = parts.part * share;
    const int last = first + share < squares ? first + share : squares;
    own += (warp * share - first) * side * side;
    int square = first;
    for (; square + together <= last; square += together) add<together>(parts, place, own, warp, square);
    for (; square < last; ++square) add<1>(parts, place, own, warp, square);
  }

 private:
  __device__ __forceinline__ static f32* squares_of(const TileParts<Config>& parts, i32 part, int warp) {
    return parts.of(part) + warp * squares * side * side;
  }
  template <typename T>
  __device__ __forceinline__ static T* four_of(T* square, int i) {
    return square + i * 32 + thread_index() % 32 * 4;
  }

  /// `count` squares from `first` on, in the order of the parts.
  template <int count>
  __device__ __forceinline__ static void add(const TileParts<Config>& parts, const TilePlace<Config>& place,
                                             const f32* own, int warp, int first) {
    f32 totals[count][of_square] = {};
#pragma unroll 8
    for (i32 part = 0; part < Config::parts; ++part) {
      const f32* const from = (part == parts.part ? own : squares_of(parts, part, warp)) + first * side * side;
#pragma unroll
      for (int square = 0; square < count; ++square) {
#pragma unroll
        for (int i = 0; i < of_square; i += 4) {
          // Of either memory: load_pack() is for global memory alone.
          const auto four = reinterpret_cast<const Pack<f32, 4>&>(*four_of(from + square * side * side, i));
#pragma unroll
          for (int j = 0; j < 4; ++j) totals[square][i + j] += four[j];
        }
      }
    }
#pragma unroll
    for (int square = 0; square < count; ++square) {
      store_square(place, warp * side, (first + square) * side, totals[square]);
    }
  }

  /// A thread has pairs of neighbours of two rows: of each 8 columns first that of the upper row, then that of the one
  /// 8 rows below.
  __device__ __forceinline__ static void store_square(const TilePlace<Config>& place, int first_row, int first_column,
                                                      const f32 (&totals)[of_square]) {
    const int lane = thread_index() % 32;
    const auto& to = place.matrix;
    const bool pairs = to.takes_packs(2);
#pragma unroll
    for (int i = 0; i < of_square; i += 2) {
      const i64 row = first_row + i / 2 % 2 * 8 + lane / 4;
      const i64 column = first_column + i / 4 * 8 + lane % 4 * 2;
      const i64 columns_left = to.columns - place.origin.column - column;
      if (place.origin.row + row >= to.rows || columns_left <= 0) continue;
      Result* const at = to.data + (place.origin.row + row) * to.stride + place.origin.column + column;
      const Pack<Result, 2> pair = place.finish(row, column, Pack<f32, 2>{{totals[i], totals[i + 1]}});
      if (pairs) {
        store_pack(at, pair);
      } else {
        store_pack(at, Pack<Result, 1>{{pair[0]}});
        if (columns_left > 1) store_pack(at + 1, Pack<Result, 1>{{pair[1]}});
      }
    }
  }
};

}  // namespace iris::device
