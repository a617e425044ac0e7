#pragma once

#include <iris/device/platform.hpp>

/// The element types of the language and the conversions among them. Arithmetic is done in f32, f64 or i32 only.
namespace iris::device {

/// IEEE 754 binary16, as stored.
struct Float16 {
  unsigned short bits;
};
using f16 = Float16;

/// The upper half of an f32, as stored.
struct BFloat16 {
  unsigned short bits;
};
using bf16 = BFloat16;

/// E4M3 of the OCP 8-bit Floating Point Specification, as stored: a sign, 4 bits of exponent with a bias of 7, 3 of
/// fraction; the largest exponent and fraction are a NaN.
struct Float8E4M3 {
  unsigned char bits;
};
using e4m3 = Float8E4M3;

/// TensorFloat-32: an f32, as stored, of which products read 10 bits of fraction.
struct TensorFloat32 {
  u32 bits;
};
using tf32 = TensorFloat32;

/// The bits of an f32 rounded to 10 bits of fraction, to nearest even; a NaN that keeps its NaN-ness in those.
__device__ __forceinline__ u32 rounded_to_tf32(u32 bits) {
  constexpr u32 lost = 0x1fff;
  constexpr u32 quiet = 0x00400000;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return is_nan ? bits | quiet : (bits + (lost >> 1) + (bits >> 13 & 1)) & ~lost;
}

/// `value` in f32, rounded to odd: what is lost leaves its trace in the last bit. Rounding the result once more, to 22
/// bits or fewer, gives the same as rounding `value` directly.
__device__ __forceinline__ f32 round_to_odd(f64 value) {
  const f32 nearest = static_cast<f32>(value);
  const f64 back = static_cast<f64>(nearest);
  if (back == value || value != value) return nearest;
  u32 bits = __builtin_bit_cast(u32, nearest);
  if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) --bits;
  return __builtin_bit_cast(f32, bits | 1);
}

template <typename To, typename From>
struct Converter {
  __device__ static To convert(From value) { return static_cast<To>(value); }
};
template <typename To>
struct Converter<To, f16> {
  __device__ static To convert(f16 value) { return static_cast<To>(platform::f16_to_f32(value.bits)); }
};
template <typename To>
struct Converter<To, bf16> {
  __device__ static To convert(bf16 value) {
    return static_cast<To>(__builtin_bit_cast(f32, static_cast<u32>(value.bits) << 16));
  }
};
template <typename To>
struct Converter<To, tf32> {
  __device__ static To convert(tf32 value) {
    return static_cast<To>(__builtin_bit_cast(f32, rounded_to_tf32(value.bits)));
  }
};
template <typename To>
struct Converter<To, e4m3> {
  __device__ static To convert(e4m3 value) {
    const u32 magnitude = value.bits & 0x7fu;
    const u32 sign = (value.bits & 0x80u) << 24;
    // Of an f32 with the same bits behind a bias of 127 instead; what is subnormal is a multiple of 2^-9.
    const f32 normal = __builtin_bit_cast(f32, (magnitude << 20) + (120u << 23));
    const f32 finite = magnitude < 8 ? static_cast<f32>(magnitude) * 0x1p-9f : normal;
    const u32 bits = magnitude == 0x7f ? 0x7fc00000u : __builtin_bit_cast(u32, finite);
    return static_cast<To>(__builtin_bit_cast(f32, bits | sign));
  }
};
template <>
struct Converter<f16, f32> {
  __device__ static f16 convert(f32 value) { return {platform::f32_to_f16(value)}; }
};
template <>
struct Converter<f16, f64> {
  __device__ static f16 convert(f64 value) { return {platform::f32_to_f16(round_to_odd(value))}; }
};
template <>
struct Converter<bf16, f32> {
  __device__ static bf16 convert(f32 value) { return {platform::f32_to_bf16(value)}; }
};
template <>
struct Converter<bf16, f64> {
  __device__ static bf16 convert(f64 value) { return {platform::f32_to_bf16(round_to_odd(value))}; }
};

/// To nearest even. What is larger than 448 becomes that, infinity too, as conversions of GPUs saturate.
template <>
struct Converter<e4m3, f32> {
  __device__ static e4m3 convert(f32 value) {
    const u32 bits = __builtin_bit_cast(u32, value);
    const u32 magnitude = bits & 0x7fffffffu;
    u32 code = 0x7f;
    if (magnitude < 0x3c800000u) {
      // Below 2^-6: adding 2^14, whose last place is 2^-9, leaves the rounded multiple of that in the last bits.
      code = __builtin_bit_cast(u32, __builtin_bit_cast(f32, magnitude) + 0x1p14f) - 0x46800000u;
    } else if (magnitude <= 0x7f800000u) {
      const u32 rounded = (magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20;
      code = rounded < (120u << 3) + 0x7eu ? rounded - (120u << 3) : 0x7eu;
    }
    return {static_cast<unsigned char>((bits >> 24 & 0x80u) | code)};
  }
};
template <>
struct Converter<e4m3, f64> {
  __device__ static e4m3 convert(f64 value) { return Converter<e4m3, f32>::convert(round_to_odd(value)); }
};

/// The value as a To, rounded once, to nearest even.
template <typename To, typename From>
__device__ __forceinline__ To convert(From value) {
  return Converter<To, From>::convert(value);
}

/// a·b + c; in i32 modulo 2^32.
template <typename T>
__device__ __forceinline__ T multiply_add(T a, T b, T c) {
  return platform::fma(a, b, c);
}
template <>
__device__ __forceinline__ i32 multiply_add(i32 a, i32 b, i32 c) {
  return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
}

}  // namespace iris::device
