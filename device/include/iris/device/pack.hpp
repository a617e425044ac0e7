#pragma once

#include <iris/device/numeric.hpp>

namespace iris::device {

/// `width` neighbouring elements, aligned to the largest power of two that divides their size. Those of 1, 2, 4, 8 or
/// 16 bytes travel in one access; others exist only as values.
template <typename T, int elements>
struct alignas(sizeof(T) * (elements & -elements)) Pack {
  static_assert(elements > 0, "a pack holds something");
  using Element = T;
  static constexpr int width = elements;

  T values[elements];

  __device__ __forceinline__ T& operator[](int lane) { return values[lane]; }
  __device__ __forceinline__ const T& operator[](int lane) const { return values[lane]; }
};

/// Whether so many travel in one access.
template <typename T, int width>
inline constexpr bool is_access = sizeof(T) * width <= 16 && (width & (width - 1)) == 0;

/// One access. `from` is aligned to the pack's size and points to device memory of any rank.
template <int width, typename T>
__device__ __forceinline__ Pack<T, width> load_pack(const T* from) {
  static_assert(is_access<T, width>, "an access moves 1, 2, 4, 8 or 16 bytes");
  return __builtin_bit_cast(Pack<T, width>, platform::load_bits<sizeof(T) * width>(from));
}

/// One access. `to` is aligned to the pack's size and points to device memory of any rank. By value: a reference to a
/// pack that is stored more than once keeps hiprtc 5 from holding it in registers.
template <int width, typename T>
__device__ __forceinline__ void store_pack(T* to, Pack<T, width> pack) {
  static_assert(is_access<T, width>, "an access moves 1, 2, 4, 8 or 16 bytes");
  using Bits = platform::Bits<sizeof(T) * width>;
  platform::store_bits<sizeof(T) * width>(to, __builtin_bit_cast(Bits, pack));
}

/// Each lane converted, rounded once.
template <typename To, int width, typename From>
__device__ __forceinline__ Pack<To, width> convert_pack(const Pack<From, width>& from) {
  Pack<To, width> to;
#pragma unroll
  for (int lane = 0; lane < width; ++lane) to[lane] = convert<To>(from[lane]);
  return to;
}

/// The 16 bytes that begin at byte `begin`, less than 16, of the 32 of both.
__device__ __forceinline__ Pack<u32, 4> bytes_from(u32 begin, const Pack<u32, 4>& first, const Pack<u32, 4>& second) {
  // By value: of two elements of an array compilers for AMD choose the address, and keep the array in memory.
  const auto chosen = [](bool is_first, u32 one, u32 other) { return is_first ? one : other; };
  u32 words[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = first[i];
    words[i + 4] = second[i];
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = chosen(begin & 8, words[i + 2], words[i]);
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = chosen(begin & 4, words[i + 1], words[i]);
  Pack<u32, 4> bytes;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<u32>((u64{words[i + 1]} << 32 | words[i]) >> begin % 4 * 8);
  }
  return bytes;
}

}  // namespace iris::device
