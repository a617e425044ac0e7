#pragma once

#include <iris/device/main_loop/wgmma_layout.hpp>
#include <iris/device/platform/hopper.hpp>

namespace iris::device {

/// A finished tile of sm_90a's main loop in shared memory, on its way from the registers of those that multiply to its
/// place.
template <typename Config>
struct FinishedTile {
  using Result = typename Config::Result;

  /// Of a row that goes to the output by itself: eight more than it has, which spread the rows over the banks.
  static constexpr int stride = Config::tile_n + 8;

  alignas(16) Result elements[Config::tile_m * stride];

  /// The results of a warpgroup's 64 rows, by that warpgroup. A lane holds pairs of sums of two rows: of each 8 columns
  /// in turn first that of the upper row, then that of the one 8 rows below.
  template <typename Place>
  __device__ __forceinline__ void put(const Place& place, int first_row, const f32 (&sums)[Config::tile_n / 2]) {
    const int lane = thread_index() % 32;
    const int row = first_row + thread_index() % warpgroup_threads / 32 * rows_of_warp;
    if constexpr (sizeof(Result) == 2) {
      put_matrices<false>(place, row, lane, sums);
    } else {
      put_pairs(place, row + lane / 4, lane % 4 * 2, sums);
    }
    platform::fence_shared_for_copies();
  }

  /// All results, by the warpgroup that made the tile transposed.
  template <typename Place>
  __device__ __forceinline__ void put_columns(const Place& place, const f32 (&sums)[Config::tile_m / 2]) {
    const int column = thread_index() % warpgroup_threads / 32 * rows_of_warp;
    put_matrices<true>(place, column, thread_index() % 32, sums);
    platform::fence_shared_for_copies();
  }

  /// To its place, by so many warps, until it has been read here. The accelerator takes 70 cycles to begin a copy, so
  /// 9000 for the rows of a tile, however short; stores are faster if they are few or there are several warps.
  template <int warps>
  __device__ __forceinline__ void send(const TilePlace<Config>& place, int thread) const {
    if (!place.matrix.takes_packs(width)) {
      store_shifted<Config::tile_m, warps>(place, 0, thread);
    } else if constexpr (Config::tile_n <= 128 || warps > 1) {
      store_packs<Config::tile_m, warps>(place, 0, thread);
    } else {
      copy_rows(place, thread);
    }
  }
  /// The rows that the calling warp has put there: where nobody waits for the warp, all together are faster.
  __device__ __forceinline__ void send_own_rows(const TilePlace<Config>& place, int first_row) const {
    // Not computed before the products, for which there are registers then.
    const int thread = platform::opaque(thread_index() % warpgroup_threads);
    const int row = first_row + thread / 32 * rows_of_warp;
    platform::sync_warp();
    if (place.matrix.takes_packs(width)) {
      store_packs<rows_of_warp, 1>(place, row, thread % 32);
    } else {
      store_shifted<rows_of_warp, 1>(place, row, thread % 32);
    }
  }
  /// By the first thread, a piece after another, none sooner than `ns_of_piece` nanoseconds after the one before: what
  /// waits for a link in the accelerator holds up the copies that fill the stages.
  __device__ __forceinline__ void send(const TileImage<Result>& image, int thread, i64 ns_of_piece) const {
    if (thread != 0) return;
    u64 due = platform::nanoseconds();
#pragma unroll 1
    for (i64 row = 0; row < image.rows; row += rows_of_piece) {
      while (ns_of_piece > 0 && static_cast<i64>(platform::nanoseconds() - due) < 0) {
      }
      due += ns_of_piece;
      const i64 left = image.rows - row;
      const i64 count = left < rows_of_piece ? left : rows_of_piece;
      const i64 first = row * Config::tile_n;
      platform::copy_out(image.data + first, elements + first, static_cast<u32>(count * row_bytes));
      platform::commit_copies_out();
      platform::wait_copies_out_read();
    }
  }
  /// Packs of a tile whose place is a TileToSend.
  template <int width, int count>
  __device__ __forceinline__ Packs<Result, width, count> load(const PacksOfTile<width, count>& packs) const {
    const ImageIndex<Config, width, count> index = {packs};
    Packs<Result, width, count> results;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      results.packs[i] = reinterpret_cast<const Pack<Result, width>&>(elements[index[i]]);
    }
    return results;
  }

  static constexpr int row_bytes = Config::tile_n * sizeof(Result);
  static constexpr i64 rows_of_piece = 2048 / row_bytes;  // less was slower, and more holds up more at a time

 private:
  static constexpr int warpgroup_threads = 128;
  static constexpr int rows_of_warp = 16;
  static constexpr int width = 16 / sizeof(Result);  // of an access
  static constexpr int packs_of_row = Config::tile_n / width;

  /// Where an element on its way to such a place is.
  __device__ __forceinline__ static int offset(const TilePlace<Config>& /*place*/, int row, int column) {
    return row * stride + column;
  }
  __device__ __forceinline__ static int offset(const TileImage<Result>& /*image*/, int row, int column) {
    return image_offset<Config>(row, column);
  }

  /// Of the tile, or of the tile transposed, 16 rows from `row` on.
  template <bool transposed, int count, typename Place>
  __device__ __forceinline__ void put_matrices(const Place& place, int row, int lane, const f32 (&sums)[count]) {
    const auto finish = [&](int of_row, int of_column, f32 first, f32 second) -> Pack<Result, 2> {
      if constexpr (transposed) {
        return {{place.finish(of_column, of_row, first), place.finish(of_column + 1, of_row, second)}};
      } else {
        return place.finish(of_row, of_column, Pack<f32, 2>{{first, second}});
      }
    };
#pragma unroll
    for (int column = 0; column < 2 * count; column += 16) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const f32* const values = sums + column / 2 + 2 * i;
        const int row_of_pair = row + lane / 4 + i % 2 * 8;
        const int column_of_pair = column + i / 2 * 8 + lane % 4 * 2;
        pairs[i] = __builtin_bit_cast(u32, finish(row_of_pair, column_of_pair, values[0], values[1]));
      }
      if constexpr (transposed) {
        const int to = offset(place, column + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8);
        platform::store_transposed_matrices(elements + to, pairs[0], pairs[1], pairs[2], pairs[3]);
      } else {
        const int to = offset(place, row + lane % 16, column + lane / 16 * 8);
        platform::store_matrices(elements + to, pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
  }

  template <typename Place>
  __device__ __forceinline__ void put_pairs(const Place& place, int upper_row, int first_column,
                                            const f32 (&sums)[Config::tile_n / 2]) {
#pragma unroll
    for (int i = 0; i < Config::tile_n / 4; ++i) {
      const int row = upper_row + i % 2 * 8;
      const int column = first_column + i / 2 * 8;
      const Pack<f32, 2> pair = {{sums[2 * i], sums[2 * i + 1]}};
      reinterpret_cast<Pack<Result, 2>&>(elements[offset(place, row, column)]) = place.finish(row, column, pair);
    }
  }

  /// Where a tile goes, and how much of it there is.
  struct Target {
    Result* corner;
    i64 stride;
    int rows;
    int columns;

    /// The elements that lie before a row in its first 16 bytes.
    __device__ __forceinline__ int before(int row) const {
      const u32 first = static_cast<u32>(reinterpret_cast<u64>(corner) / sizeof(Result));
      return static_cast<int>((first + static_cast<u32>(row) * static_cast<u32>(stride)) % width);
    }
  };
  __device__ __forceinline__ static Target target_of(const TilePlace<Config>& place) {
    const Matrix<Result>& to = place.matrix;
    return {to.data + place.origin.row * to.stride + place.origin.column, to.stride,
            static_cast<int>(rows_of_tile<Config>(to.rows, place.origin.row)),
            up_to(to.columns - place.origin.column, Config::tile_n)};
  }

  __device__ __forceinline__ void copy_rows(const TilePlace<Config>& place, int lane) const {
    const Target to = target_of(place);
    for (int row = lane; row < to.rows; row += 32) {
      platform::copy_out(to.corner + row * to.stride, elements + row * stride, to.columns * sizeof(Result));
    }
    platform::commit_copies_out();
    platform::wait_copies_out_read();
  }

  /// Of so many rows. Several packs are on their way together: for all that the compiler knows, a store may be to what
  /// is loaded next.
  template <int count, int warps>
  __device__ __forceinline__ void store_packs(const TilePlace<Config>& place, int first_row, int thread) const {
    constexpr int threads = warps * 32;
    constexpr int packs_of_all = count * packs_of_row;
    constexpr int together = packs_of_all % (4 * threads) == 0 ? 4 : 2;  // more would take registers from the products
    constexpr bool whole_rounds = packs_of_all % (together * threads) == 0;
    static_assert(whole_rounds || count == Config::tile_m, "beyond the last row lie those of other warps");
    const Target to = target_of(place);
#pragma unroll 1
    for (int first = thread; first < packs_of_all; first += threads * together) {
      Pack<Result, width> packs[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int row = first_row + (first + threads * i) / packs_of_row;
        const int column = (first + threads * i) % packs_of_row * width;
        if (whole_rounds || row < first_row + count) {
          packs[i] = *reinterpret_cast<const Pack<Result, width>*>(elements + row * stride + column);
        }
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int row = first_row + (first + threads * i) / packs_of_row;
        const int column = (first + threads * i) % packs_of_row * width;
        if (row < to.rows && column < to.columns) store_pack(to.corner + row * to.stride + column, packs[i]);
      }
    }
  }

  __device__ __forceinline__ static Pack<u32, 4> words_at(const Result* place) {
    return __builtin_bit_cast(Pack<u32, 4>, *reinterpret_cast<const Pack<Result, width>*>(place));
  }

  /// Of so many rows that begin anywhere: what lies between multiples of 16 bytes there is two packs of here, shifted.
  template <int count, int warps>
  __device__ __forceinline__ void store_shifted(const TilePlace<Config>& place, int first_row, int thread) const {
    constexpr int threads = warps * 32;
    constexpr int packs_of_all = count * packs_of_row;
    constexpr int together = 2;
    constexpr bool whole_rounds = packs_of_all % (together * threads) == 0;
    static_assert(whole_rounds || count == Config::tile_m, "beyond the last row lie those of other warps");
    const Target to = target_of(place);
#pragma unroll 1
    for (int first = thread; first < packs_of_all; first += threads * together) {
      Pack<u32, 4> packs[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int row = first_row + (first + threads * i) / packs_of_row;
        const int pack = (first + threads * i) % packs_of_row;
        if (!whole_rounds && row >= first_row + count) continue;
        const int shift = to.before(row);
        const Result* const second = elements + row * stride + pack * width;
        const Result* const other = shift > 0 && pack > 0 ? second - width : second;
        packs[i] = bytes_from((width - shift) % width * sizeof(Result), words_at(other), words_at(second));
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int row = first_row + (first + threads * i) / packs_of_row;
        const int column = (first + threads * i) % packs_of_row * width - to.before(row);
        if (row < to.rows && column >= 0 && column + width <= to.columns) {
          store_pack(to.corner + row * to.stride + column, __builtin_bit_cast(Pack<Result, width>, packs[i]));
        }
      }
    }
    // One by one a row's first elements, and those behind its last whole 16 bytes; some a second time.
#pragma unroll 1
    for (int number = thread; number < count * 2 * width; number += threads) {
      const int row = first_row + number / (2 * width);
      const int shift = to.before(row);
      const int tail = (to.columns + shift) / width * width - shift;
      const int begin = number / width % 2 == 1 && tail > 0 ? tail : 0;
      const int column = begin + number % width;
      if (row < to.rows && column < to.columns) {
        store_pack(to.corner + row * to.stride + column, Pack<Result, 1>{{elements[row * stride + column]}});
      }
    }
  }
};

}  // namespace iris::device
