#pragma once

#include <iris/device/rma.hpp>

/// From values in the accumulator's type to results in memory: the epilogue, where the Config has one, then one
/// rounding.
namespace iris::device {

/// Where an element stands in a matrix.
struct Coordinates {
  i64 row;
  i64 column;
};

struct NoEpilogue {
  template <typename T>
  __device__ __forceinline__ T operator()(T value, const Coordinates&, i64) const {
    return value;
  }
};

template <typename...>
using Void = void;

/// Config::Epilogue: called with a value, its coordinates and its index among the rank's results, it gives what the
/// result is to be. It holds this launch's buffers.
template <typename Config, typename = void>
struct EpilogueOf {
  static constexpr bool is_there = false;
  using Type = NoEpilogue;
};
template <typename Config>
struct EpilogueOf<Config, Void<typename Config::Epilogue>> {
  static constexpr bool is_there = true;
  using Type = typename Config::Epilogue;
};

/// Whether the epilogue has a pair(): called like itself with two neighbours of a row, of which the first stands in an
/// even column, where there is an even number of these.
template <typename Config>
inline constexpr bool finishes_pairs = requires { &EpilogueOf<Config>::Type::pair; };

/// The matrix of a rank's results: where it is, and what is done to a value before it is rounded. Rows follow one
/// another without gaps.
template <typename Config>
struct Output {
  using Result = typename Config::Result;
  using Accumulate = typename Config::Accumulate;

  Result* data;
  i64 columns;
  typename EpilogueOf<Config>::Type epilogue = {};

  /// The coordinates of the element at `data + index`.
  __device__ __forceinline__ Coordinates at(i64 index) const {
    const i64 row = index / columns;
    return {row, index - row * columns};
  }

  __device__ __forceinline__ Result finish(const Coordinates& at, Accumulate value) const {
    return convert<Result>(epilogue(value, at, at.row * columns + at.column));
  }
  /// Two neighbours of a row, where the epilogue has a pair().
  __device__ __forceinline__ Pack<Result, 2> finish(const Coordinates& at, const Pack<Accumulate, 2>& values) const {
    return convert_pack<Result>(epilogue.pair(values, at, at.row * columns + at.column));
  }
  /// Neighbours, the first of which is `data[first]`; `held` of them are there.
  template <int width>
  __device__ __forceinline__ Pack<Result, width> finish(i64 first, const Pack<Accumulate, width>& values,
                                                        int held = width) const {
    if constexpr (EpilogueOf<Config>::is_there) {
      Pack<Result, width> results = {};
      Coordinates place = at(first);
      constexpr int together = finishes_pairs<Config> && width % 2 == 0 ? 2 : 1;
#pragma unroll
      for (int lane = 0; lane < width; lane += together) {
        if (lane < held) {
          if constexpr (together == 2) {
            const auto pair = finish(place, Pack<Accumulate, 2>{{values[lane], values[lane + 1]}});
            results[lane] = pair[0];
            results[lane + 1] = pair[1];
          } else {
            results[lane] = finish(place, values[lane]);
          }
        }
        place.column += together;
        if (place.column == columns) place = {place.row + 1, 0};
      }
      return results;
    } else {
      return convert_pack<Result>(values);
    }
  }
  /// Those at `index`, counted from `data`.
  template <typename Index>
  __device__ __forceinline__ Packs<Result, Index::width, Index::count> finish(
      const Index& index, const Packs<Accumulate, Index::width, Index::count>& values) const {
    Packs<Result, Index::width, Index::count> results;
#pragma unroll
    for (int i = 0; i < Index::count; ++i) results.packs[i] = finish(index[i], values.packs[i]);
    return results;
  }
};

}  // namespace iris::device
