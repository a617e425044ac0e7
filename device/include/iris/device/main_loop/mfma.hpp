#pragma once

#include <iris/device/main_loop/mfma_slices.hpp>
#include <iris/device/main_loop/tile_by_tile.hpp>

/// The main loop of AMD's matrix cores: for f64, f32, tf32, f16 and bf16 of any size, and for e4m3 on gfx942 and gfx950
/// where both operands are contiguous along k, and k is even. Sums are in f32, those of f64 in f64.
///
/// Slices of both operands, tile_k deep, go from memory to registers and on to shared memory, into one of two stages;
/// meanwhile the waves multiply what is in the other one, each a part of the tile 64 columns wide. Between one slice
/// and the next there is a barrier of the whole block. Rows that are no multiple of 16 bytes are read element by
/// element.
///
/// Config names threads, tile_m, tile_n, tile_k, LayoutB, Element and Accumulate.
namespace iris::device {

struct WaveMma : TileByTile<WaveMma>, private WaveSlices {
  template <typename Config>
  using Sums4 = platform::Sums4<typename Config::Accumulate>;

  template <typename Config>
  struct Stages {
    Stage<Config> stages[2];
  };

  template <typename Config>
  struct Sums {
    Sums4<Config> values[Shape<Config>::wave_rows / side][wave_columns / side];
  };

  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    const int wave = platform::wave_index();
    const Matrix<const Unit<Config>> rows = in_units<Config>(a.matrix);
    Sums<Config> sums = {};
    if (wave < Shape<Config>::threads_of_b / wave_threads) {
      accumulate_slices<Config>(sums, PartOfB<Config>(in_units<Config>(b.matrix), origin.column), wave, rows.columns);
    } else {
      accumulate_slices<Config>(sums, PacksAlongK<RowsOfA<Config>>(rows, origin.row), wave, rows.columns);
    }
    if constexpr (Core<Config>::unit_of_sums != 1) multiply_by<Config>(sums, Core<Config>::unit_of_sums);
    if constexpr (Scales<typename Config::Element>::are_there) multiply_by<Config>(sums, b.scales.product());
    store_at(place, [&](const auto& to) {
      if (to.matrix.takes_packs(16 / sizeof(*to.matrix.data))) {
        store<true, Config>(to, sums, wave);
      } else {
        store<false, Config>(to, sums, wave);
      }
    });
  }

 private:
  template <typename Config>
  __device__ __forceinline__ static void multiply_by(Sums<Config>& sums, f32 factor) {
#pragma unroll
    for (int i = 0; i < Shape<Config>::wave_rows / side; ++i) {
#pragma unroll
      for (int j = 0; j < wave_columns / side; ++j) sums.values[i][j] *= factor;
    }
  }

  /// The waves that fetch A and those that fetch B meet in the same barriers.
  template <typename Config, typename Part>
  __device__ __forceinline__ static void accumulate_slices(Sums<Config>& sums, Part part, int wave, i64 k) {
    if (k == 0) return;
    auto& stages = shared<Stages<Config>>().stages;
    const Places<Config> places = places_of<Config>(wave);
    fetch(part, 0);
    part.put(stages[0]);
    fetch(part, 1);
    sync_block();
    const i64 slices = divide_up(k, unit_depth<Config>);
    i64 slice = 0;
    for (; slice + 2 < part.whole_slices; ++slice) {
      part.put(stages[(slice + 1) % 2]);
      part.fetch_whole(slice + 2);
      platform::keep_order();
      accumulate<Config>(sums, stages[slice % 2], places);
      platform::sync_block_and_start_products();
    }
    for (; slice < slices; ++slice) {
      part.put(stages[(slice + 1) % 2]);
      part.fetch_inside(slice + 2);
      accumulate<Config>(sums, stages[slice % 2], places);
      sync_block();
    }
  }

  template <typename Part>
  __device__ __forceinline__ static void fetch(Part& part, i64 slice) {
    if (slice < part.whole_slices) {
      part.fetch_whole(slice);
    } else {
      part.fetch_inside(slice);
    }
  }

  /// The first row, and column, of the tile that a wave multiplies.
  template <typename Config>
  __device__ __forceinline__ static int first_row(int wave) {
    return wave / Shape<Config>::waves_across * Shape<Config>::wave_rows;
  }
  template <typename Config>
  __device__ __forceinline__ static int first_column(int wave) {
    return wave % Shape<Config>::waves_across * wave_columns;
  }

  /// Where the calling thread reads in each stage.
  template <typename Config>
  struct Places {
    int a[Shape<Config>::wave_rows / side];
    int b[wave_columns / side];
  };
  template <typename Config>
  __device__ __forceinline__ static Places<Config> places_of(int wave) {
    const int lane = thread_index() % wave_threads;
    Places<Config> places;
#pragma unroll
    for (int i = 0; i < Shape<Config>::wave_rows / side; ++i) {
      places.a[i] = place_of<Config::tile_m>(first_row<Config>(wave) + i * side + lane % side, lane / side);
    }
#pragma unroll
    for (int j = 0; j < wave_columns / side; ++j) {
      places.b[j] = place_of<Config::tile_n>(first_column<Config>(wave) + j * side + lane % side, lane / side);
    }
    return places;
  }

  /// sums += a·b of the slice. The instructions compute the transposed product, so that a lane gets sums of one row.
  template <typename Config>
  __device__ __forceinline__ static void accumulate(Sums<Config>& sums, const Stage<Config>& stage,
                                                    const Places<Config>& places) {
    constexpr int rows = Shape<Config>::wave_rows / side;
    constexpr int columns = wave_columns / side;
    Bits a[rows];
    Bits b[columns];
#pragma unroll
    for (int j = 0; j < columns; ++j) b[j] = stage.b[places.b[j]];
#pragma unroll
    for (int i = 0; i < rows; ++i) a[i] = stage.a[places.a[i]];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        sums.values[i][j] = platform::multiply_64_bytes<typename Config::Element, typename Config::Accumulate>(
            b[j], a[i], sums.values[i][j]);
      }
    }
  }

  /// Writes what lies inside the place's matrix; 16 bytes in an access if `whole`, which the matrix then takes, else
  /// one element.
  template <bool whole, typename Config, typename Place>
  __device__ __forceinline__ static void store(const Place& place, const Sums<Config>& sums, int wave) {
    using Result = typename Place::Result;
    constexpr int in_access = whole ? 16 / sizeof(Result) : 1;
    const auto& to = place.matrix;
    const int lane = thread_index() % wave_threads;
#pragma unroll
    for (int i = 0; i < Shape<Config>::wave_rows / side; ++i) {
      const i64 row = first_row<Config>(wave) + i * side + lane % side;
#pragma unroll
      for (int j = 0; j < wave_columns / side; j += 2) {
        const i64 first = first_column<Config>(wave) + j * side + lane / side * lane_sums;
        const Sums4<Config>* const values = sums.values[i] + j;
#pragma unroll
        for (int k = 0; k < lane_sums; k += in_access) {
          const i64 column = first + k;
          if (place.origin.row + row >= to.rows || place.origin.column + column >= to.columns) continue;
          Result* const at = to.data + (place.origin.row + row) * to.stride + place.origin.column + column;
          if constexpr (whole) {
            platform::store_bits<16>(at, finished<Result>(place, row, column, values, k));
          } else {
            store_pack(at, Pack<Result, 1>{{place.finish(row, column, values[k / 4][k % 4])}});
          }
        }
      }
    }
  }

  /// 16 bytes of results from number `first` on. Word by word: an array of 16-bit elements would go to memory with
  /// hiprtc 5.
  template <typename Result, typename Place, typename Sums4>
  __device__ __forceinline__ static Bits finished(const Place& place, i64 row, i64 column, const Sums4* values,
                                                  int first) {
    const auto result = [&](int number) {
      const int k = first + number;
      return place.finish(row, column + number, values[k / 4][k % 4]);
    };
    Bits bits = {};
    if constexpr (sizeof(Result) >= sizeof(u32)) {
#pragma unroll
      for (int i = 0; i < width_of<sizeof(Result)>; ++i) set(bits, i, result(i));
    } else {
      constexpr int in_word = sizeof(u32) / sizeof(Result);
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        Pack<Result, in_word> results;
#pragma unroll
        for (int i = 0; i < in_word; ++i) results[i] = result(word * in_word + i);
        bits[word] = __builtin_bit_cast(u32, results);
      }
    }
    return bits;
  }
};

}  // namespace iris::device
