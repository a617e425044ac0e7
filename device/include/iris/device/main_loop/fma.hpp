#pragma once

#include <iris/device/main_loop/tile_by_tile.hpp>

/// The main loop in plain fused multiply-adds: any type, any size, every platform.
///
/// Config names threads, vector, tile_m, tile_n, tile_k, LayoutB, Element, Result and Accumulate. A slice of both
/// operands lies in shared memory; each thread holds a rectangle of the tile's sums in registers, threads·rows·columns
/// = tile_m·tile_n.
namespace iris::device {

/// The largest power of two whose square is at most `elements`.
constexpr int side_of_square_in(int elements) {
  int side = 1;
  while (4 * side * side <= elements) side *= 2;
  return side;
}

/// One thread's rectangle of the tile's sums.
template <typename Config>
struct Fragment {
  static constexpr int columns = side_of_square_in(Config::tile_m * Config::tile_n / Config::threads);
  static constexpr int rows = Config::tile_m * Config::tile_n / Config::threads / columns;
  static constexpr int threads_per_row = Config::tile_n / columns;
  static_assert(rows * columns * Config::threads == Config::tile_m * Config::tile_n && Config::tile_n % columns == 0 &&
                    Config::tile_m % rows == 0,
                "the tile cannot be distributed to the threads in equal rectangles");

  typename Config::Accumulate values[rows][columns];

  __device__ __forceinline__ void multiply_by(typename Config::Accumulate factor) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) values[i][j] *= factor;
    }
  }

  /// Where the calling thread's rectangle begins in the tile.
  __device__ __forceinline__ static int first_row() { return thread_index() / threads_per_row * rows; }
  __device__ __forceinline__ static int first_column() { return thread_index() % threads_per_row * columns; }
};

/// A slice of both operands in shared memory, tile_k deep, converted to the type that is multiplied.
template <typename Config>
struct Operands {
  using Value = typename Config::Accumulate;
  static constexpr int padding = 16 / sizeof(Value);  // spreads the transposing writes over the banks

  Value a[Config::tile_k][Config::tile_m + padding];  // [k][row]
  Value b[Config::tile_k][Config::tile_n + padding];  // [k][column]
};

/// sums += a·b over the slice's depth. The caller has synchronised the block since the operands were written.
template <typename Config>
__device__ __forceinline__ void multiply_accumulate(Fragment<Config>& sums, const Operands<Config>& operands) {
  using Value = typename Operands<Config>::Value;
  constexpr int rows = Fragment<Config>::rows;
  constexpr int columns = Fragment<Config>::columns;
  const int first_row = Fragment<Config>::first_row();
  const int first_column = Fragment<Config>::first_column();
#pragma unroll 4
  for (int depth = 0; depth < Config::tile_k; ++depth) {
    Value a[rows];
    Value b[columns];
#pragma unroll
    for (int i = 0; i < rows; ++i) a[i] = operands.a[depth][first_row + i];
#pragma unroll
    for (int j = 0; j < columns; ++j) b[j] = operands.b[depth][first_column + j];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) sums.values[i][j] = multiply_add(a[i], b[j], sums.values[i][j]);
    }
  }
}

/// The tile_m × tile_n tile at `origin` of the product a·b, computed by the whole block; b as Config::LayoutB has it.
/// Zeros where k is 0.
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
    if constexpr (Config::LayoutB::contiguous_along_k) {
      load_tile_to_shared<Config, Config::tile_n, Config::tile_k>(
          b, {origin.column, depth},
          [&](int column, int k, T value) { operands.b[k][column] = convert<Value>(value); });
    } else {
      load_tile_to_shared<Config, Config::tile_k, Config::tile_n>(
          b, {depth, origin.column},
          [&](int k, int column, T value) { operands.b[k][column] = convert<Value>(value); });
    }
    sync_block();
    multiply_accumulate(sums, operands);
  }
  return sums;
}

/// Writes what lies inside the place's matrix; `width` elements in one access, which divides the fragment's columns and
/// which the matrix takes.
template <int width, typename Config, typename Place>
__device__ __forceinline__ void write_fragment(const Place& place, const Fragment<Config>& sums) {
  using Result = typename Place::Result;
  const auto& matrix = place.matrix;
#pragma unroll
  for (int i = 0; i < Fragment<Config>::rows; ++i) {
    const i64 row = Fragment<Config>::first_row() + i;
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; j += width) {
      const i64 column = Fragment<Config>::first_column() + j;
      if (place.origin.row + row >= matrix.rows || place.origin.column + column >= matrix.columns) continue;
      Pack<Result, width> pack;
#pragma unroll
      for (int lane = 0; lane < width; ++lane) pack[lane] = place.finish(row, column + lane, sums.values[i][j + lane]);
      store_pack(matrix.data + (place.origin.row + row) * matrix.stride + place.origin.column + column, pack);
    }
  }
}

/// Accesses of up to 16 bytes where the matrix takes them.
template <typename Config, typename Place>
__device__ __forceinline__ void store_tile(const Place& place, const Fragment<Config>& sums) {
  constexpr int most = 16 / sizeof(typename Place::Result);
  constexpr int width = Fragment<Config>::columns < most ? Fragment<Config>::columns : most;
  if (place.matrix.takes_packs(width)) {
    write_fragment<width>(place, sums);
  } else {
    write_fragment<1>(place, sums);
  }
}

struct FusedMultiplyAdd : TileByTile<FusedMultiplyAdd> {
  template <typename Config, typename Place>
  __device__ __forceinline__ static void multiply(const Operand<Config>& a, const Operand<Config>& b,
                                                  const TileOrigin& origin, const Place& place) {
    Fragment<Config> sums = multiply_tile<Config>(a.matrix, b.matrix, origin);
    if constexpr (Scales<typename Config::Element>::are_there) sums.multiply_by(b.scales.product());
    store_at(place, [&](const auto& to) { store_tile<Config>(to, sums); });
  }
};

}  // namespace iris::device
