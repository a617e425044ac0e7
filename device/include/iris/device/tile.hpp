#pragma once

#include <iris/device/mma.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

/// Tiles of matrices: from memory through shared memory to a Fragment, and back to memory of any rank.
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

/// The tile_m × tile_n tile at `origin` of the product a·b, computed by the whole block. Zeros where k is 0.
template <typename Config, typename T>
__device__ __forceinline__ Fragment<Config> multiply_tile(const Matrix<const T>& a, const Matrix<const T>& b,
                                                          const TileOrigin& origin) {
  using Value = typename Operands<Config>::Value;
  Operands<Config>& operands = shared<Operands<Config>>();
  Fragment<Config> sums = {};
  for (i64 depth = 0; depth < a.columns; depth += Config::tile_k) {
    sync_block();  // the slice before has been used up
    load_tile_to_shared<Config, Config::tile_m, Config::tile_k>(
        a, {origin.row, depth}, [&](int row, int k, T value) { operands.a[k][row] = convert<Value>(value); });
    load_tile_to_shared<Config, Config::tile_k, Config::tile_n>(
        b, {depth, origin.column}, [&](int k, int column, T value) { operands.b[k][column] = convert<Value>(value); });
    sync_block();
    multiply_accumulate(sums, operands);
  }
  return sums;
}

/// Writes what lies inside the matrix, rounded once to T; `width` elements in one access, which divides the fragment's
/// columns and which the matrix takes.
template <int width, typename Config, typename T>
__device__ __forceinline__ void write_fragment(const Matrix<T>& matrix, const TileOrigin& origin,
                                               const Fragment<Config>& sums) {
#pragma unroll
  for (int i = 0; i < Fragment<Config>::rows; ++i) {
    const i64 row = origin.row + Fragment<Config>::first_row() + i;
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; j += width) {
      const i64 column = origin.column + Fragment<Config>::first_column() + j;
      Pack<T, width> pack;
#pragma unroll
      for (int lane = 0; lane < width; ++lane) pack[lane] = convert<T>(sums.values[i][j + lane]);
      if (row < matrix.rows && column < matrix.columns) store_pack(matrix.data + row * matrix.stride + column, pack);
    }
  }
}

/// The tile at `origin` of a matrix of any rank becomes `sums`, each rounded once. Accesses of up to 16 bytes where the
/// matrix takes them.
template <typename Config, typename T>
__device__ __forceinline__ void store_tile(const Matrix<T>& matrix, const TileOrigin& origin,
                                           const Fragment<Config>& sums) {
  constexpr int most = 16 / sizeof(T);
  constexpr int width = Fragment<Config>::columns < most ? Fragment<Config>::columns : most;
  if (matrix.takes_packs(width)) {
    write_fragment<width>(matrix, origin, sums);
  } else {
    write_fragment<1>(matrix, origin, sums);
  }
}

/// Calls body(PackIndex), counted from matrix.data, for the packs of `width` elements of the tile at `origin` that lie
/// inside the matrix, distributed to the block's threads. The matrix takes_packs() of `width`.
template <typename Config, int width, typename T, typename Body>
__device__ __forceinline__ void for_each_pack_of_tile(const Matrix<T>& matrix, const TileOrigin& origin,
                                                      const Body& body) {
  constexpr int per_row = Config::tile_n / width;
  for (int pack = thread_index(); pack < Config::tile_m * per_row; pack += Config::threads) {
    const i64 row = origin.row + pack / per_row;
    const i64 column = origin.column + pack % per_row * width;
    if (row < matrix.rows && column < matrix.columns) body(PackIndex<width, 1>{row * matrix.stride + column, 0});
  }
}

}  // namespace iris::device
