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

/// How B, of k rows and n columns, lies in memory: as it is written, or as its transpose, (n,k).
struct RowMajor {
  static constexpr bool contiguous_along_k = false;

  template <typename T>
  __device__ __forceinline__ static Matrix<T> stored(T* data, i64 k, i64 n) {
    return dense(data, k, n);
  }
};
struct ColumnMajor {
  static constexpr bool contiguous_along_k = true;

  template <typename T>
  __device__ __forceinline__ static Matrix<T> stored(T* data, i64 k, i64 n) {
    return dense(data, n, k);
  }
};

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

/// Rows of each of the portions that so many are cut into: whole tiles. The last ones may have fewer, or none.
template <typename Config>
__device__ __forceinline__ i64 rows_of_portion(i64 rows) {
  return divide_up(divide_up(rows, Config::tile_m), Config::portions) * Config::tile_m;
}

/// How many of the rows of a tile that begins at `row` a matrix of so many rows has; none if it is not positive.
template <typename Config>
__device__ __forceinline__ i64 rows_of_tile(i64 rows, i64 row) {
  const i64 left = rows - row;
  return left < Config::tile_m ? left : Config::tile_m;
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

/// Several parts of so many tiles each as one sequence: the first tile of each, then the second of each, and so on;
/// those of the last part come `lag` tiles later. What comes from or goes to several ranks is so taken from all of them
/// at once, and what waits for the others' part stands behind it. After every `turn` tiles of each, another part is the
/// first, so that blocks that take every so many tiles do not always take the same one's.
struct TilesOfParts {
  i64 tiles;
  i32 parts;
  i64 lag = 0;   // at least 1 if there are turns: else nothing would stand behind what it waits for
  i64 turn = 0;  // 0: none

  struct Tile {
    i32 part;
    i64 index;  ///< among its tiles
  };

  __device__ __forceinline__ i64 late() const { return lag < tiles ? lag : tiles; }
  __device__ __forceinline__ i64 ahead() const { return late() * (parts - 1); }  // numbers before the last part begins
  __device__ __forceinline__ i32 first_part(i64 index) const {
    return turn == 0 ? 0 : static_cast<i32>(index / turn % parts);
  }

  __device__ __forceinline__ Tile at(i64 number) const {
    if (number < ahead()) return {static_cast<i32>(number % (parts - 1)), number / (parts - 1)};
    const i64 index = (number - ahead()) / parts;                                   // of the last part
    if (index + late() >= tiles) return {parts - 1, number - tiles * (parts - 1)};  // which alone is left
    const i32 part = static_cast<i32>((number - ahead() + first_part(index)) % parts);
    return {part, part + 1 < parts ? index + late() : index};
  }
  __device__ __forceinline__ i64 number(const Tile& tile) const {
    const bool last = tile.part + 1 == parts;
    if (!last && tile.index < late()) return tile.index * (parts - 1) + tile.part;
    if (last && tile.index + late() >= tiles) return tiles * tile.part + tile.index;
    const i64 index = last ? tile.index : tile.index - late();
    return ahead() + index * parts + (tile.part + parts - first_part(index)) % parts;
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

/// `count` packs of `width` elements of a tile, `step` rows apart.
template <int width_, int count_>
struct PacksOfTile {
  static constexpr int width = width_;
  static constexpr int count = count_;

  int row;
  int column;
  int step;

  /// Where they lie, counted from the tile's first element, if the tile's rows are `stride` elements apart.
  __device__ __forceinline__ PackIndex<width, count> index(i64 stride) const {
    return {row * stride + column, step * stride};
  }
  /// Where they lie, counted from the data of a matrix that has the tile at `origin`.
  __device__ __forceinline__ PackIndex<width, count> index(i64 stride, const TileOrigin& origin) const {
    return {(origin.row + row) * stride + origin.column + column, step * stride};
  }
};

/// Calls body(PacksOfTile) for the packs of `width` elements of the tile at `origin` that lie inside the matrix,
/// distributed to the group's threads; Config::unroll packs together where that many are left. `width` divides tile_n
/// and the matrix's columns.
template <typename Config, int width, typename T, typename Body>
__device__ __forceinline__ void for_each_pack_of_tile(ThreadGroup group, const Matrix<T>& matrix,
                                                      const TileOrigin& origin, const Body& body) {
  static_assert(Config::tile_n % width == 0, "rows of a tile are whole packs");
  constexpr int per_row = Config::tile_n / width;
  constexpr int unroll = Config::unroll;
  const int threads = static_cast<int>(group.size);
  const int step = threads / per_row;  // rows from one pack of a thread to its next
  const int rows = static_cast<int>(rows_of_tile<Config>(matrix.rows, origin.row));
  int pack = static_cast<int>(group.index);
  if (unroll > 1 && threads % per_row == 0) {
    for (; pack / per_row + (unroll - 1) * step < rows; pack += unroll * threads) {
      const int column = pack % per_row * width;
      if (origin.column + column >= matrix.columns) continue;
      body(PacksOfTile<width, unroll>{pack / per_row, column, step});
    }
  }
  for (; pack / per_row < rows; pack += threads) {
    const int column = pack % per_row * width;
    if (origin.column + column < matrix.columns) body(PacksOfTile<width, 1>{pack / per_row, column, 0});
  }
}

}  // namespace iris::device
