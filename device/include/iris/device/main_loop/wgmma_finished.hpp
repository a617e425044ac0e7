#pragma once

#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/platform/hopper.hpp>

namespace iris::device {

/// A finished tile of sm_90a's main loop in shared memory, on its way from the registers of those that multiply to its
/// place.
template <typename Config>
struct FinishedTile {
  using Result = typename Config::Result;

  /// Elements of a row: 16 bytes more than it has, which spread the rows over the banks.
  static constexpr i64 stride = Config::tile_n + 16 / sizeof(Result);

  alignas(16) Result rows[Config::tile_m][stride];

  /// The results of a warpgroup's 64 rows, by that warpgroup. A lane holds pairs of sums of two rows: of each 8 columns
  /// in turn first that of the upper row, then that of the one 8 rows below.
  template <typename Place>
  __device__ __forceinline__ void put(const Place& place, int first_row, const f32 (&sums)[Config::tile_n / 2]) {
    const int lane = thread_index() % 32;
    const int row = first_row + thread_index() % warpgroup_threads / 32 * 16;
#pragma unroll
    for (int column = 0; column < Config::tile_n; column += 16) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const f32* const values = sums + column / 2 + 2 * i;
        const int row_of_pair = row + lane / 4 + i % 2 * 8;
        const int column_of_pair = column + i / 2 * 8 + lane % 4 * 2;
        const Pack<Result, 2> pair = {{place.finish(row_of_pair, column_of_pair, values[0]),
                                       place.finish(row_of_pair, column_of_pair + 1, values[1])}};
        pairs[i] = __builtin_bit_cast(u32, pair);
      }
      Result* const to = &rows[row + lane % 16][column + lane / 16 * 8];
      platform::store_matrices(to, pairs[0], pairs[1], pairs[2], pairs[3]);
    }
    platform::fence_async_copies();
  }

  /// To its place, by one warp, until it has been read here.
  __device__ __forceinline__ void send(const TilePlace<Config>& place, int lane) const {
    const Matrix<Result>& to = place.matrix;
    const i64 columns_left = to.columns - place.origin.column;
    const int count = static_cast<int>(rows_of_tile<Config>(to.rows, place.origin.row));
    const int columns = static_cast<int>(columns_left < Config::tile_n ? columns_left : Config::tile_n);
    Result* const corner = to.data + place.origin.row * to.stride + place.origin.column;
    if (to.takes_packs(16 / sizeof(Result))) {
      for (int row = lane; row < count; row += 32) {
        platform::copy_out(corner + row * to.stride, rows[row], columns * sizeof(Result));
      }
      platform::commit_copies_out();
      platform::wait_copies_out_read();
    } else {
      for (int row = 0; row < count; ++row) {
        for (int i = lane; i < columns; i += 32) corner[row * to.stride + i] = rows[row][i];
      }
    }
  }
  /// Piece by piece: what waits for a link in the accelerator would hold up the copies that fill the stages.
  __device__ __forceinline__ void send(const TileImage<Result>& image, int lane) const {
    constexpr i64 rows_of_piece = 16;
    if (lane != 0) return;
#pragma unroll 1
    for (i64 row = 0; row < image.rows; row += rows_of_piece) {
      const i64 left = image.rows - row;
      const i64 count = left < rows_of_piece ? left : rows_of_piece;
      platform::copy_out(image.data + row * stride, rows[row], static_cast<u32>(count * sizeof(rows[row])));
      platform::commit_copies_out();
      platform::wait_copies_out_read();
    }
  }

  /// Sums that stay what they are do not pass through shared memory, which has no room for them.
  __device__ __forceinline__ void put(const TileImage<f32>& image, int first_row,
                                      const f32 (&sums)[Config::tile_n / 2]) {
    const int lane = thread_index() % 32;
    const int row = first_row + thread_index() % warpgroup_threads / 32 * 16 + lane / 4;
    f32* const upper = image.data + row * stride + lane % 4 * 2;
#pragma unroll
    for (int below = 0; below < 16; below += 8) {
      if (row + below >= image.rows) continue;
#pragma unroll
      for (int column = 0; column < Config::tile_n; column += 8) {
        const f32* const values = sums + column / 2 + below / 4;
        store_pack(upper + below * stride + column, Pack<f32, 2>{{values[0], values[1]}});
      }
    }
  }
  __device__ __forceinline__ void send(const TileImage<f32>&, int) const {}

 private:
  static constexpr int warpgroup_threads = 128;
};

}  // namespace iris::device
