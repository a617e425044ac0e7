#pragma once

#include <iris/device/platform/ampere.hpp>
#include <iris/device/tile.hpp>

/// Slices of both operands of a tile on their way into a ring of stages in shared memory, of which one is multiplied
/// while the others come. Between one slice and the next there is a barrier of the whole block, at which all have read
/// the one into registers.
///
/// A stage is a type that names
///
///     Element                                   what is copied, as it is in memory
///     depth                                     of a slice
///     most_along_k                              elements copied at once of an operand that is contiguous along k, at
///                                               most: 1 if it is transposed on the way
///     Element* place_of_a(int row, int k)       where each belongs; elements that are copied at once lie beside each
///     Element* place_of_b(int k, int column)    other
namespace iris::device {

constexpr int ring_stages = 4;

template <typename Stage>
struct RingOfStages {
  Stage stages[ring_stages];
};

/// What one thread copies of each slice in turn of `rows` rows of an operand that is contiguous along k, `width`
/// elements at a time; zeros outside the matrix.
template <typename Config, typename Stage, int rows, int width>
class PartAlongK {
  using T = typename Stage::Element;
  static constexpr int across = Stage::depth / width;
  static constexpr int step = Config::threads / across;
  static_assert(rows % step == 0, "threads copy equally much");

 public:
  __device__ __forceinline__ PartAlongK(const Matrix<const T>& matrix, i64 first_row)
      : from_(matrix.data + (first_row + row()) * matrix.stride + k()),
        to_next_(step * matrix.stride),
        rows_left_(up_to(matrix.rows - first_row, rows) - row()) {}

  /// Copies to place_of(row, k) of the slice, and goes on to the next, of which `k_left` elements are left.
  template <typename PlaceOf>
  __device__ __forceinline__ void copy(int k_left, const PlaceOf& place_of) {
    const T* from = from_;
#pragma unroll
    for (int i = 0; i < rows; i += step) {
      const u32 bytes = i < rows_left_ && k() < k_left ? width * sizeof(T) : 0;
      platform::copy_in_or_zero<width * sizeof(T)>(place_of(row() + i, k()), from, bytes);
      from += to_next_;
    }
    from_ += Stage::depth;
  }

 private:
  __device__ __forceinline__ static int row() { return thread_index() / across; }
  __device__ __forceinline__ static int k() { return thread_index() % across * width; }

  const T* from_;
  i64 to_next_;
  int rows_left_;  // after the thread's first
};

/// And of a row-major B, to place_of(k, column).
template <typename Config, typename Stage, int width>
class PartAlongN {
  using T = typename Stage::Element;
  static constexpr int across = Config::tile_n / width;
  static constexpr int step = Config::threads / across;
  static_assert(step * across == Config::threads && Stage::depth % step == 0, "threads copy equally much");

 public:
  __device__ __forceinline__ PartAlongN(const Matrix<const T>& b, i64 first_column)
      : from_(b.data + k() * b.stride + first_column + column()),
        to_next_(step * b.stride),
        has_column_(first_column + column() < b.columns) {}

  template <typename PlaceOf>
  __device__ __forceinline__ void copy(int k_left, const PlaceOf& place_of) {
#pragma unroll
    for (int i = 0; i < Stage::depth; i += step) {
      const u32 bytes = has_column_ && i < k_left - k() ? width * sizeof(T) : 0;
      platform::copy_in_or_zero<width * sizeof(T)>(place_of(k() + i, column()), from_, bytes);
      from_ += to_next_;
    }
  }

 private:
  __device__ __forceinline__ static int k() { return thread_index() / across; }
  __device__ __forceinline__ static int column() { return thread_index() % across * width; }

  const T* from_;
  i64 to_next_;
  bool has_column_;
};

template <typename Stage, int width>
inline constexpr int width_along_k = width < Stage::most_along_k ? width : Stage::most_along_k;

template <typename Config, typename Stage, int width, bool contiguous_along_k = Config::LayoutB::contiguous_along_k>
struct PartOfB : PartAlongN<Config, Stage, width> {
  using PartAlongN<Config, Stage, width>::PartAlongN;
};
template <typename Config, typename Stage, int width>
struct PartOfB<Config, Stage, width, true> : PartAlongK<Config, Stage, Config::tile_n, width_along_k<Stage, width>> {
  using PartAlongK<Config, Stage, Config::tile_n, width_along_k<Stage, width>>::PartAlongK;
};

/// The slices of a tile's operands, copied by up to `width` elements at a time, which both matrices take. The whole
/// block makes it, and asks for one slice after another; between two of them there is a barrier.
template <typename Config, typename Stage, int width>
class Slices {
  using T = typename Stage::Element;

 public:
  static constexpr bool asynchronous = true;  // so that products may go on beside copies

  __device__ __forceinline__ Slices(const Matrix<const T>& a, const Matrix<const T>& b, const TileOrigin& origin)
      : k_(a.columns), part_of_a_(a, origin.row), part_of_b_(b, origin.column) {
#pragma unroll 1
    for (int slice = 0; slice < ring_stages; ++slice) copy_next();
  }

  __device__ __forceinline__ i64 count() const { return divide_up(k_, Stage::depth); }

  /// The first slice, when it has come: before all others.
  __device__ __forceinline__ const Stage& first() {
    platform::wait_copies_in<ring_stages - 1>();
    sync_block();
    return of(0);
  }

  /// The next slice, when it has come and the block has read the one before. Behind the last there is one of no
  /// meaning.
  __device__ __forceinline__ const Stage& next() {
    platform::wait_copies_in<ring_stages - 2>();
    sync_block();
    return of(copied_ - (ring_stages - 1));
  }

  /// Asks for another slice, in the place of the one before that of next(), after each of which this is called once.
  __device__ __forceinline__ void copy_next() {
    const i64 all_left = k_ - copied_ * Stage::depth;
    if (all_left > 0) {
      const int k_left = up_to(all_left, Stage::depth);
      Stage& stage = of(copied_);
      part_of_a_.copy(k_left, [&](int row, int k) { return stage.place_of_a(row, k); });
      if constexpr (Config::LayoutB::contiguous_along_k) {
        part_of_b_.copy(k_left, [&](int column, int k) { return stage.place_of_b(k, column); });
      } else {
        part_of_b_.copy(k_left, [&](int k, int column) { return stage.place_of_b(k, column); });
      }
    }
    platform::commit_copies_in();
    ++copied_;
  }

 private:
  __device__ __forceinline__ static Stage& of(i64 slice) {
    return shared<RingOfStages<Stage>>().stages[slice % ring_stages];
  }

  i64 k_;
  i64 copied_ = 0;
  PartAlongK<Config, Stage, Config::tile_m, width_along_k<Stage, width>> part_of_a_;
  PartOfB<Config, Stage, width> part_of_b_;
};

/// Calls multiply(Slices&) with such as copy 16 bytes at a time where both matrices take that, else single elements.
template <typename Config, typename Stage, typename Multiply>
__device__ __forceinline__ void with_slices(const Matrix<const typename Stage::Element>& a,
                                            const Matrix<const typename Stage::Element>& b, const TileOrigin& origin,
                                            const Multiply& multiply) {
  constexpr int most = 16 / sizeof(typename Stage::Element);
  constexpr bool one_along_k = Stage::most_along_k == 1;
  const bool whole_a = one_along_k || a.takes_packs(most);
  const bool whole_b = (one_along_k && Config::LayoutB::contiguous_along_k) || b.takes_packs(most);
  if (whole_a && whole_b) {
    Slices<Config, Stage, most> slices(a, b, origin);
    multiply(slices);
  } else {
    Slices<Config, Stage, 1> slices(a, b, origin);
    multiply(slices);
  }
}

/// Calls multiply(factors) for each of the `steps` in which every slice is multiplied, with what the calling thread
/// multiplies in it: Factors, by load(stage, step). They are loaded one step ahead of those that are multiplied, also
/// into the next slice, so that nobody waits for shared memory. The code has so many steps `at_once`: with one there is
/// one set of factors, which takes half the registers and is waited for.
template <typename Factors, int steps, int at_once = steps, typename AllSlices, typename Multiply>
__device__ __forceinline__ void for_each_step(AllSlices& slices, const Multiply& multiply) {
  const auto* stage = &slices.first();
  if constexpr (at_once == 1) {
#pragma unroll 1
    for (i64 left = slices.count(); left > 0; --left) {
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        Factors factors;
        factors.load(*stage, step);
        multiply(factors);
      }
      stage = &slices.next();
      slices.copy_next();
    }
  } else {
    static_assert(steps % 2 == 0, "two sets of factors take turns");
    Factors factors[2];
    factors[0].load(*stage, 0);
#pragma unroll 1
    for (i64 left = slices.count(); left > 0; --left) {
#pragma unroll(at_once / 2)
      for (int step = 0; step < steps; step += 2) {
        factors[1].load(*stage, step + 1);
        multiply(factors[0]);
        const bool is_last = step + 2 == steps;
        if (is_last) stage = &slices.next();
        factors[0].load(*stage, (step + 2) % steps);
        if (is_last && AllSlices::asynchronous) slices.copy_next();
        multiply(factors[1]);
        if (is_last && !AllSlices::asynchronous) slices.copy_next();
      }
    }
  }
}

}  // namespace iris::device
