#pragma once

#include <iris/device/numeric.hpp>

/// Multiply-accumulate of one tile by one block, its result held in registers: the seam where matrix units go. Today
/// plain fused multiply-adds.
///
/// Config names threads, tile_m, tile_n, tile_k, Element and Accumulate. Each thread holds a rectangle of the tile;
/// threads·rows·columns = tile_m·tile_n.
namespace iris::device {

/// The largest power of two whose square is at most `elements`.
__device__ constexpr int side_of_square_in(int elements) {
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

}  // namespace iris::device
