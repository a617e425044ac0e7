#pragma once

#include <iris/device/output.hpp>

/// Element-wise reductions; those of the values of all ranks always in the order of ranks 0, 1, …, world - 1, so that
/// every algorithm that uses them gives the same bits.
namespace iris::device {

/// In i32 modulo 2^32.
struct Sum {
  template <typename T>
  __device__ static T apply(T a, T b) {
    return a + b;
  }
  __device__ static i32 apply(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
};

/// In i32 modulo 2^32.
struct Prod {
  template <typename T>
  __device__ static T apply(T a, T b) {
    return a * b;
  }
  __device__ static i32 apply(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b)); }
};

/// NaN if either is NaN, on every platform.
struct Max {
  template <typename T>
  __device__ static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

/// NaN if either is NaN, on every platform.
struct Min {
  template <typename T>
  __device__ static T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

/// Lane by lane, in the accumulator's type.
template <typename Operation, typename Accumulate, int width>
__device__ __forceinline__ void reduce_into(Pack<Accumulate, width>& sum, const Pack<Accumulate, width>& next) {
#pragma unroll
  for (int lane = 0; lane < width; ++lane) sum[lane] = Operation::apply(sum[lane], next[lane]);
}

/// Operation(a, b) lane by lane, in the accumulator's type.
template <typename Operation, typename Accumulate, int width, int count>
__device__ __forceinline__ Packs<Accumulate, width, count> combine(Packs<Accumulate, width, count> a,
                                                                   const Packs<Accumulate, width, count>& b) {
#pragma unroll
  for (int i = 0; i < count; ++i) reduce_into<Operation>(a.packs[i], b.packs[i]);
  return a;
}

/// What a rank contributes to a reduction: its elements in the accumulator's type, after Config::Prologue::apply()
/// where the Config has a prologue.
template <typename Config, typename = void>
struct PrologueOf {
  template <typename T>
  __device__ __forceinline__ static T apply(T value) {
    return value;
  }
};
template <typename Config>
struct PrologueOf<Config, Void<typename Config::Prologue>> : Config::Prologue {};

template <typename Config, typename T, int width>
__device__ __forceinline__ Pack<typename Config::Accumulate, width> contribution(const Pack<T, width>& values) {
  Pack<typename Config::Accumulate, width> result;
#pragma unroll
  for (int lane = 0; lane < width; ++lane) {
    result[lane] = PrologueOf<Config>::apply(convert<typename Config::Accumulate>(values[lane]));
  }
  return result;
}
template <typename Config, typename T, int width, int count>
__device__ __forceinline__ Packs<typename Config::Accumulate, width, count> contributions(
    const Packs<T, width, count>& values) {
  Packs<typename Config::Accumulate, width, count> result;
#pragma unroll
  for (int i = 0; i < count; ++i) result.packs[i] = contribution<Config>(values.packs[i]);
  return result;
}

/// One pack of each rank, reduced in rank order in Config::Accumulate.
template <typename Config, typename Operation, typename T, int width>
__device__ __forceinline__ Pack<typename Config::Accumulate, width> reduce_packs(
    const Pack<T, width> (&values)[Config::world]) {
  Pack<typename Config::Accumulate, width> sum = contribution<Config>(values[0]);
#pragma unroll
  for (i32 rank = 1; rank < Config::world; ++rank) reduce_into<Operation>(sum, contribution<Config>(values[rank]));
  return sum;
}

/// The packs at `index` of all `sources` (one array a rank), loaded together and reduced in rank order in
/// Config::Accumulate.
template <typename Config, typename Operation, typename T, typename Index>
__device__ __forceinline__ Packs<typename Config::Accumulate, Index::width, Index::count> load_and_reduce(
    const T* const (&sources)[Config::world], const Index& index) {
  constexpr int width = Index::width;
  constexpr int count = Index::count;
  Pack<T, width> values[count][Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) {
#pragma unroll
    for (int i = 0; i < count; ++i) values[i][rank] = load_pack<width>(sources[rank] + index[i]);
  }

  Packs<typename Config::Accumulate, width, count> result;
#pragma unroll
  for (int i = 0; i < count; ++i) result.packs[i] = reduce_packs<Config, Operation>(values[i]);
  return result;
}

}  // namespace iris::device
