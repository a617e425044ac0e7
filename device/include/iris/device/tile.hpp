#pragma once

#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

/// Matrices in the memory of any rank, and their tiles.
namespace iris::device {

/// Row-major, rows `stride` elements apart. The data is aligned to 16 bytes where columns and stride are multiples of
/// 16 bytes; else to one element.
template <typename T>
struct Matrix {
  T* data;
  i64 rows;
  i64 columns;
  i64 stride;

  /// Whether packs of `width` elements that begin at multiples of it are aligned.
  __device__ __forceinline__ bool takes_packs(int width) const { return columns % width == 0 && stride % width == 0; }
};

/// A matrix without gaps between rows.
template <typename T>
__device__ __forceinline__ Matrix<T> dense(T* data, i64 rows, i64 columns) {
  return {data, rows, columns, columns};
}

/// Where a tile begins in a matrix. The tile may stick out at the bottom and on the right.
struct TileOrigin {
  i64 row;
  i64 column;
};

/// Into how many tiles of Config's size a matrix is cut.
template <typename Config>
__device__ __forceinline__ i64 tiles_of(i64 rows, i64 columns) {
  return divide_up(rows, Config::tile_m) * divide_up(columns, Config::tile_n);
}

/// The tile number `index` of a matrix of rows × columns, cut into tiles of Config's size. Tiles are numbered down
/// the columns of bands that are tile_band tiles high, so that those under way at one time share operands in the cache.
template <typename Config>
__device__ __forceinline__ TileOrigin tile_at(i64 index, i64 rows, i64 columns) {
  const i64 tiles_across = divide_up(columns, Config::tile_n);
  const i64 tiles_down = divide_up(rows, Config::tile_m);
  const i64 band = index / (Config::tile_band * tiles_across);
  const i64 within = index - band * Config::tile_band * tiles_across;
  const i64 left = tiles_down - band * Config::tile_band;
  const i64 height = left < Config::tile_band ? left : Config::tile_band;
  return {(band * Config::tile_band + within % height) * Config::tile_m, within / height * Config::tile_n};
}

/// The tiles of several matrices of rows × columns as one sequence: a band of the first, the same band of the second,
/// and so on, then the next band of all. What comes from or goes to several ranks is so taken from all of them in turn.
template <typename Config>
struct TilesOfParts {
  i64 rows;
  i64 columns;
  i32 parts;

  struct Tile {
    i32 part;
    i64 index;  ///< of its tile_at
  };

  __device__ __forceinline__ i64 tiles() const { return tiles_of<Config>(rows, columns); }  // of one part
  __device__ __forceinline__ i64 band_tiles() const { return Config::tile_band * divide_up(columns, Config::tile_n); }
  __device__ __forceinline__ i64 tiles_of_band(i64 band) const {
    const i64 left = tiles() - band * band_tiles();
    return left < band_tiles() ? left : band_tiles();
  }

  __device__ __forceinline__ Tile at(i64 number) const {
    const i64 band = number / (band_tiles() * parts);
    const i64 within = number - band * band_tiles() * parts;
    const i64 height = tiles_of_band(band);
    const i64 part = within / height;
    return {static_cast<i32>(part), band * band_tiles() + within - part * height};
  }
  __device__ __forceinline__ i64 number(const Tile& tile) const {
    const i64 band = tile.index / band_tiles();
    return band * band_tiles() * (parts - 1) + tile.part * tiles_of_band(band) + tile.index;
  }
};

/// The block calls put(row, column, value) for each element of the rows × columns tile at `origin`, coordinates within
/// the tile, value zero outside the matrix. `width` elements are loaded in one access; the matrix
/// takes_packs() of them.
template <typename Config, int rows, int columns, int width, typename T, typename Put>
__device__ __forceinline__ void visit_tile(const Matrix<const T>& matrix, const TileOrigin& origin, const Put& put) {
  constexpr int per_row = columns / width;
  constexpr int packs = rows * per_row;
  constexpr int iterations = (packs + Config::threads - 1) / Config::threads;
  Pack<T, width> held[iterations];
#pragma unroll
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const int pack = iteration * Config::threads + thread_index();
    const i64 row = origin.row + pack / per_row;
    const i64 column = origin.column + pack % per_row * width;
    held[iteration] = {};
    if (pack < packs && row < matrix.rows && column < matrix.columns) {
      held[iteration] = load_pack<width>(matrix.data + row * matrix.stride + column);
    }
  }
#pragma unroll
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const int pack = iteration * Config::threads + thread_index();
    if (pack >= packs) break;
#pragma unroll
    for (int lane = 0; lane < width; ++lane) {
      put(pack / per_row, pack % per_row * width + lane, held[iteration][lane]);
    }
  }
}

/// visit_tile with Config::vector elements in one access where the matrix takes them, else one.
template <typename Config, int rows, int columns, typename T, typename Put>
__device__ __forceinline__ void load_tile_to_shared(const Matrix<const T>& matrix, const TileOrigin& origin,
                                                    const Put& put) {
  if (matrix.takes_packs(Config::vector)) {
    visit_tile<Config, rows, columns, Config::vector>(matrix, origin, put);
  } else {
    visit_tile<Config, rows, columns, 1>(matrix, origin, put);
  }
}

/// Calls body(PackIndex), counted from matrix.data, for the packs of `width` elements of the tile at `origin` that lie
/// inside the matrix, distributed to the group's threads; Config::unroll packs together where that many are left. The
/// matrix takes_packs() of `width`.
template <typename Config, int width, typename T, typename Body>
__device__ __forceinline__ void for_each_pack_of_tile(ThreadGroup group, const Matrix<T>& matrix,
                                                      const TileOrigin& origin, const Body& body) {
  constexpr int per_row = Config::tile_n / width;
  constexpr int unroll = Config::unroll;
  const int threads = static_cast<int>(group.size);
  const int step = threads / per_row;  // rows from one pack of a thread to its next
  const i64 rows_left = matrix.rows - origin.row;
  const int rows = static_cast<int>(rows_left < Config::tile_m ? rows_left : Config::tile_m);
  const auto pack_at = [&](int row, int column) { return (origin.row + row) * matrix.stride + origin.column + column; };
  int pack = static_cast<int>(group.index);
  if (unroll > 1 && threads % per_row == 0) {
    for (; pack / per_row + (unroll - 1) * step < rows; pack += unroll * threads) {
      const int column = pack % per_row * width;
      if (origin.column + column >= matrix.columns) continue;
      body(PackIndex<width, unroll>{pack_at(pack / per_row, column), step * matrix.stride});
    }
  }
  for (; pack / per_row < rows; pack += threads) {
    const int column = pack % per_row * width;
    if (origin.column + column < matrix.columns) body(PackIndex<width, 1>{pack_at(pack / per_row, column), 0});
  }
}

}  // namespace iris::device
