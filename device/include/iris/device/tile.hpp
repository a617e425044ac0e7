#pragma once

#include <iris/device/mma.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

/// Tiles of matrices: from memory through shared memory to a Fragment, and back to memory of any rank.
namespace iris::device {

/// Row-major, without gaps between rows. The data is aligned to 16 bytes.
template <typename T>
struct Matrix {
  T* data;
  i64 rows;
  i64 columns;
};

/// A tile's place in a matrix. It may stick out at the bottom and on the right.
struct Corner {
  i64 row;
  i64 column;
};

/// The block calls put(row, column, value) for each element of the rows × columns tile at `corner`, coordinates within
/// the tile, value zero outside the matrix. `width` elements are loaded in one access; it divides matrix.columns.
template <typename Config, int rows, int columns, int width, typename T, typename Put>
__device__ __forceinline__ void visit_tile(const Matrix<const T>& matrix, const Corner& corner, const Put& put) {
  constexpr int per_row = columns / width;
  constexpr int packs = rows * per_row;
  constexpr int turns = (packs + Config::threads - 1) / Config::threads;
  Pack<T, width> held[turns];
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const int pack = turn * Config::threads + thread_index();
    const i64 row = corner.row + pack / per_row;
    const i64 column = corner.column + pack % per_row * width;
    held[turn] = {};
    if (pack < packs && row < matrix.rows && column < matrix.columns) {
      held[turn] = load_pack<width>(matrix.data + row * matrix.columns + column);
    }
  }
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const int pack = turn * Config::threads + thread_index();
    if (pack >= packs) break;
#pragma unroll
    for (int lane = 0; lane < width; ++lane) {
      put(pack / per_row, pack % per_row * width + lane, held[turn][lane]);
    }
  }
}

/// visit_tile with Config::vector elements in one access where the matrix's rows are aligned for that, else one.
template <typename Config, int rows, int columns, typename T, typename Put>
__device__ __forceinline__ void stage(const Matrix<const T>& matrix, const Corner& corner, const Put& put) {
  if (matrix.columns % Config::vector == 0) {
    visit_tile<Config, rows, columns, Config::vector>(matrix, corner, put);
  } else {
    visit_tile<Config, rows, columns, 1>(matrix, corner, put);
  }
}

/// The tile_m × tile_n tile at `corner` of the product a·b, computed by the whole block. Zeros where k is 0.
template <typename Config, typename T>
__device__ __forceinline__ Fragment<Config> multiply_tile(const Matrix<const T>& a, const Matrix<const T>& b,
                                                          const Corner& corner) {
  using Value = typename Operands<Config>::Value;
  Operands<Config>& operands = shared<Operands<Config>>();
  Fragment<Config> sums = {};
  for (i64 depth = 0; depth < a.columns; depth += Config::tile_k) {
    sync_block();  // the slice before has been used up
    stage<Config, Config::tile_m, Config::tile_k>(
        a, {corner.row, depth}, [&](int row, int k, T value) { operands.a[k][row] = convert<Value>(value); });
    stage<Config, Config::tile_k, Config::tile_n>(
        b, {depth, corner.column}, [&](int k, int column, T value) { operands.b[k][column] = convert<Value>(value); });
    sync_block();
    multiply_accumulate(sums, operands);
  }
  return sums;
}

/// Writes what lies inside the matrix, rounded once to T; `width` elements in one access, which divides
/// matrix.columns and the fragment's columns.
template <int width, typename Config, typename T>
__device__ __forceinline__ void write_fragment(const Matrix<T>& matrix, const Corner& corner,
                                               const Fragment<Config>& sums) {
#pragma unroll
  for (int i = 0; i < Fragment<Config>::rows; ++i) {
    const i64 row = corner.row + Fragment<Config>::first_row() + i;
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; j += width) {
      const i64 column = corner.column + Fragment<Config>::first_column() + j;
      Pack<T, width> pack;
#pragma unroll
      for (int lane = 0; lane < width; ++lane) pack[lane] = convert<T>(sums.values[i][j + lane]);
      if (row < matrix.rows && column < matrix.columns) store_pack(matrix.data + row * matrix.columns + column, pack);
    }
  }
}

/// The tile at `corner` of a matrix of any rank becomes `sums`, each rounded once. Accesses of up to 16 bytes where the
/// matrix's rows are aligned for that.
template <typename Config, typename T>
__device__ __forceinline__ void store_tile(const Matrix<T>& matrix, const Corner& corner,
                                           const Fragment<Config>& sums) {
  constexpr int most = 16 / sizeof(T);
  constexpr int width = Fragment<Config>::columns < most ? Fragment<Config>::columns : most;
  if (matrix.columns % width == 0) {
    write_fragment<width>(matrix, corner, sums);
  } else {
    write_fragment<1>(matrix, corner, sums);
  }
}

/// Calls body(Turn) for the packs of `width` elements of the tile at `corner` that lie inside a rows × columns matrix,
/// dealt to the block's threads. `width` divides `columns`.
template <typename Config, int width, typename Body>
__device__ __forceinline__ void for_each_pack_of_tile(i64 rows, i64 columns, const Corner& corner, const Body& body) {
  constexpr int per_row = Config::tile_n / width;
  for (int pack = thread_index(); pack < Config::tile_m * per_row; pack += Config::threads) {
    const i64 row = corner.row + pack / per_row;
    const i64 column = corner.column + pack % per_row * width;
    if (row < rows && column < columns) body(Turn<width, 1>{row * columns + column, 0});
  }
}

}  // namespace iris::device
