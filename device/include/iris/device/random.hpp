#pragma once

#include <iris/device/math.hpp>
#include <iris/device/math/trigonometric.hpp>
#include <iris/device/numeric.hpp>
#include <iris/device/pack.hpp>
#include <iris/device/partition.hpp>

/// Random numbers by counting: number i of a sequence is a function of i, so it does not matter which thread of which
/// grid makes it, and it has the same bits on every platform. Nothing here is for cryptography.
namespace iris::device {

/// Four independent random words.
struct RandomWords {
  u32 words[4];

  /// Words 2·pair and 2·pair + 1, the former the lower half.
  __device__ __forceinline__ u64 pair(int pair) const { return u64{words[2 * pair + 1]} << 32 | words[2 * pair]; }
};

/// Philox4x32-10: a bijection of 128-bit counters for each key, in ten rounds. (Salmon, Moraes, Dror, Shaw: Parallel
/// random numbers: as easy as 1, 2, 3; SC 2011.)
__device__ __forceinline__ RandomWords philox4x32_10(RandomWords counter, u32 key_low, u32 key_high) {
  constexpr int rounds = 10;
  u32(&words)[4] = counter.words;
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    const u64 first = u64{0xd2511f53u} * words[0];
    const u64 second = u64{0xcd9e8d57u} * words[2];
    words[0] = static_cast<u32>(second >> 32) ^ words[1] ^ key_low;
    words[1] = static_cast<u32>(second);
    words[2] = static_cast<u32>(first >> 32) ^ words[3] ^ key_high;
    words[3] = static_cast<u32>(first);
    key_low += 0x9e3779b9u;   // the golden ratio's fraction
    key_high += 0xbb67ae85u;  // that of √3
  }
  return counter;
}

/// 2^64 blocks of four words for each seed and each number of a sequence. The seed is Philox's key, and a counter is
/// the block's number with the sequence's above it.
struct RandomSequence {
  u64 seed;
  u64 sequence;

  __device__ __forceinline__ RandomWords block(u64 number) const {
    return philox4x32_10({{static_cast<u32>(number), static_cast<u32>(number >> 32), static_cast<u32>(sequence),
                           static_cast<u32>(sequence >> 32)}},
                         static_cast<u32>(seed), static_cast<u32>(seed >> 32));
  }
};

namespace random {

/// Bits of the significand, the hidden one with them.
template <typename T>
inline constexpr int precision = 0;
template <>
inline constexpr int precision<f64> = 53;
template <>
inline constexpr int precision<f32> = 24;
template <>
inline constexpr int precision<f16> = 11;
template <>
inline constexpr int precision<bf16> = 8;
template <>
inline constexpr int precision<e4m3> = 4;

/// Two independent normal numbers of two uniform ones, `radius` in (0, 1] and `turn` in [0, 1): the coordinates of a
/// point at a random angle. (Box, Muller: A note on the generation of random normal deviates; 1958.)
template <typename T>
__device__ __forceinline__ Pack<T, 2> box_muller(T radius, T turn) {
  const T distance = sqrt(-2 * log(radius));
  const math::SineCosine<T> direction = math::sine_cosine_of_pi_times(2 * turn);
  return {{distance * direction.cosine, distance * direction.sine}};
}

}  // namespace random

/// The uniform numbers of one block of words: multiples of 2^-p in [0, 1), all equally likely, where p is the type's
/// precision (f64 53, f32 24, f16 11, bf16 8, e4m3 4 bits).
template <typename T>
struct UniformNumbers {
  static constexpr int count = 4;

  __device__ static Pack<T, count> of(const RandomWords& words) {
    constexpr int bits = random::precision<T>;
    Pack<T, count> numbers;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      numbers[i] = convert<T>(static_cast<f32>(words.words[i] >> (32 - bits)) * (1.0f / static_cast<f32>(1 << bits)));
    }
    return numbers;
  }
};
template <>
struct UniformNumbers<f64> {
  static constexpr int count = 2;

  __device__ static Pack<f64, count> of(const RandomWords& words) {
    return {{static_cast<f64>(words.pair(0) >> 11) * 0x1p-53, static_cast<f64>(words.pair(1) >> 11) * 0x1p-53}};
  }
};

/// The normal numbers of one block of words: mean 0, variance 1, made in f32 and rounded, or made in f64. The largest
/// are 6.8 (f64: 8.7).
template <typename T>
struct NormalNumbers {
  static constexpr int count = 4;

  __device__ static Pack<T, count> of(const RandomWords& words) {
    Pack<T, count> numbers;
#pragma unroll
    for (int i = 0; i < count; i += 2) {
      const f32 radius = static_cast<f32>(words.words[i]) * 0x1p-32f + 0x1p-33f;  // the product is exact
      const f32 turn = static_cast<f32>(words.words[i + 1] >> 8) * 0x1p-24f;
      const Pack<f32, 2> pair = random::box_muller(radius, turn);
      numbers[i] = convert<T>(pair[0]);
      numbers[i + 1] = convert<T>(pair[1]);
    }
    return numbers;
  }
};
template <>
struct NormalNumbers<f64> {
  static constexpr int count = 2;

  __device__ static Pack<f64, count> of(const RandomWords& words) {
    const f64 radius = static_cast<f64>(words.pair(0) >> 11) * 0x1p-53 + 0x1p-54;  // the product is exact
    return random::box_muller(radius, static_cast<f64>(words.pair(1) >> 11) * 0x1p-53);
  }
};

/// The integers of one block of words, all of [low, low + range) with the same probability but for 2^-32 of it; `range`
/// is at most 2^32. (The upper 64 bits of the product of 64 random ones with the range; Lemire: Fast random integer
/// generation in an interval, 2019, without its rejection.)
struct IntegerNumbers {
  static constexpr int count = 2;

  i64 low;
  u64 range;

  __device__ static u64 below(u64 range, u64 bits) {
    const u64 carry = (bits & 0xffffffffu) * range >> 32;
    return ((bits >> 32) * range + carry) >> 32;
  }
  __device__ Pack<i64, count> of(const RandomWords& words) const {
    return {{low + static_cast<i64>(below(range, words.pair(0))), low + static_cast<i64>(below(range, words.pair(1)))}};
  }
};

/// Calls body(i, number) for each i in [0, count), once in one thread of the group: number i of the sequence, as one of
/// the structs above makes it of block i / Numbers::count.
template <typename Numbers, typename Body>
__device__ __forceinline__ void for_each_random(ThreadGroup group, const RandomSequence& random, i64 count,
                                                const Numbers& numbers, const Body& body) {
#pragma unroll 1
  for (i64 first = group.index * Numbers::count; first < count; first += group.size * Numbers::count) {
    const auto made = numbers.of(random.block(static_cast<u64>(first / Numbers::count)));
#pragma unroll
    for (int k = 0; k < Numbers::count; ++k) {
      if (first + k < count) body(first + k, made[k]);
    }
  }
}

}  // namespace iris::device
