#pragma once

#include <iris/device/main_loop/tile_by_tile.hpp>

/// The main loop in plain fused multiply-adds: any type, any size, every platform.
///
/// Config names threads, vector, tile_m, tile_n, tile_k, LayoutB, Element, Result and Accumulate. A slice of both
/// operands lies in shared memory; each thread holds a share of the tile's sums in registers, threads·rows·columns =
/// tile_m·tile_n.
namespace iris::device {

/// The largest power of two whose square is at most `elements`.
constexpr int side_of_square_in(int elements) {
  int side = 1;
  while (4 * side * side <= elements) side *= 2;
  return side;
}

/// The largest power of two that divides `count` and is at most `most`.
constexpr int power_of_two_in(int count, int most) {
  int power = 1;
  while (2 * power <= most && count % (2 * power) == 0) power *= 2;
  return power;
}

/// One thread's sums of the tile, rows × columns of them. They lie in runs of up to 16 bytes, each as far from the next
/// as those of all threads beside it take, so that threads which read operands at the same time come to all banks.
template <typename Config>
struct Fragment {
  using Value = typename Config::Accumulate;
  static constexpr int columns = side_of_square_in(Config::tile_m * Config::tile_n / Config::threads);
  static constexpr int rows = Config::tile_m * Config::tile_n / Config::threads / columns;
  static constexpr int threads_across = Config::tile_n / columns;
  static constexpr int threads_down = Config::tile_m / rows;
  static_assert(rows * columns * Config::threads == Config::tile_m * Config::tile_n && Config::tile_n % columns == 0 &&
                    Config::tile_m % rows == 0,
                "the tile cannot be distributed to the threads in equal rectangles");
  static constexpr int row_run = power_of_two_in(rows, 16 / sizeof(Value));
  static constexpr int column_run = power_of_two_in(columns, 16 / sizeof(Value));
  // Threads side by side, of which the next are below: few if their sums are many, so that those which read at the same
  // time read few different operands.
  static constexpr int strip = rows * columns > 16 ? power_of_two_in(threads_across, 8) : threads_across;
  static constexpr int strip_threads = strip * threads_down;

  Value values[rows][columns];

  __device__ __forceinline__ void multiply_by(Value factor) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) values[i][j] *= factor;
    }
  }

  /// Where the calling thread's sum (i, j) is in the tile: so many rows and columns after its first.
  __device__ __forceinline__ static int first_row() {
    const int in_strip = strip_threads == Config::threads ? thread_index() : thread_index() % strip_threads;
    return in_strip / strip * row_run;
  }
  __device__ __forceinline__ static int first_column() {
    const int strips_before = strip_threads == Config::threads ? 0 : thread_index() / strip_threads;
    return (strips_before * strip + thread_index() % strip) * column_run;
  }
  __device__ static constexpr int rows_on(int i) { return i / row_run * threads_down * row_run + i % row_run; }
  __device__ static constexpr int columns_on(int j) {
    return j / column_run * threads_across * column_run + j % column_run;
  }
};

/// A slice of both operands in shared memory, tile_k deep, converted to the type that is multiplied.
template <typename Config>
struct Operands {
  using Value = typename Config::Accumulate;
  static constexpr int padding = 16 / sizeof(Value);  // spreads the transposing writes over the banks

  Value a[Config::tile_k][Config::tile_m + padding];  // [k][row]
  Value b[Config::tile_k][Config::tile_n + padding];  // [k][column]
};

/// What one thread multiplies of a slice at one depth.
template <typename Config>
struct Factors {
  using Value = typename Operands<Config>::Value;
  Value a[Fragment<Config>::rows];
  Value b[Fragment<Config>::columns];

  /// The caller has synchronised the block since the operands were written.
  __device__ __forceinline__ void load(const Operands<Config>& operands, int depth) {
    const Value* const a_column = operands.a[depth] + Fragment<Config>::first_row();
    const Value* const b_row = operands.b[depth] + Fragment<Config>::first_column();
#pragma unroll
    for (int i = 0; i < Fragment<Config>::rows; ++i) a[i] = a_column[Fragment<Config>::rows_on(i)];
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; ++j) b[j] = b_row[Fragment<Config>::columns_on(j)];
  }
};

/// sums += a·b at one depth.
template <typename Config>
__device__ __forceinline__ void multiply_accumulate(Fragment<Config>& sums, const Factors<Config>& factors) {
#pragma unroll
  for (int i = 0; i < Fragment<Config>::rows; ++i) {
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; ++j) {
      sums.values[i][j] = multiply_add(factors.a[i], factors.b[j], sums.values[i][j]);
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
#pragma unroll 4
    for (int k = 0; k < Config::tile_k; ++k) {
      Factors<Config> factors;
      factors.load(operands, k);
      multiply_accumulate(sums, factors);
    }
  }
  return sums;
}

/// Writes what lies inside the place's matrix; `width` elements in one access, which divides the fragment's runs and
/// which the matrix takes.
template <int width, typename Config, typename Place>
__device__ __forceinline__ void write_fragment(const Place& place, const Fragment<Config>& sums) {
  using Result = typename Place::Result;
  const auto& matrix = place.matrix;
#pragma unroll
  for (int i = 0; i < Fragment<Config>::rows; ++i) {
    const i64 row = Fragment<Config>::first_row() + Fragment<Config>::rows_on(i);
#pragma unroll
    for (int j = 0; j < Fragment<Config>::columns; j += width) {
      const i64 column = Fragment<Config>::first_column() + Fragment<Config>::columns_on(j);
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
  constexpr int width = Fragment<Config>::column_run < most ? Fragment<Config>::column_run : most;
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
