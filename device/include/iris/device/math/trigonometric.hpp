#pragma once

#include <iris/device/math/floating.hpp>

/// Sine and cosine of multiples of π: reducing x to the nearest half is exact, so every argument is as good as one near
/// 0. The polynomials interpolate (sin πf - πf)/f³ and (cos πf - 1)/f² in f² at the Chebyshev nodes of [0, 1/16].
namespace iris::device::math {

/// sin πf = f·(π + (rest of π) + f²·P(f²)), for |f| <= 1/4.
__device__ __forceinline__ f32 sine_near_zero(f32 f) {
  const f32 rest =
      polynomial(f * f, -0x1.777a5cp-24f, -0x1.4abbcep+2f, 0x1.466bc2p+1f, -0x1.32ce1ep-1f, 0x1.4cb762p-4f);
  return platform::fma_rounded_once(f, 0x1.921fb6p+1f, f * rest);
}
__device__ __forceinline__ f64 sine_near_zero(f64 f) {
  const f64 rest =
      polynomial(f * f, 0x1.1a62633145c07p-53, -0x1.4abbce625be53p+2, 0x1.466bc6775aae1p+1, -0x1.32d2cce62b872p-1,
                 0x1.50783486facaap-4, -0x1.e3074d2614b2dp-8, 0x1.e8f036bcd3237p-12, -0x1.6cc577dadd922p-16);
  return platform::fma_rounded_once(f, 0x1.921fb54442d18p+1, f * rest);
}

/// cos πf = 1 + f²·P(f²), for |f| <= 1/4.
__device__ __forceinline__ f32 cosine_near_zero(f32 f) {
  return polynomial(f * f, 1.0f, -0x1.3bd3ccp+2f, 0x1.03c1eap+2f, -0x1.55cb98p+0f, 0x1.db6492p-3f);
}
__device__ __forceinline__ f64 cosine_near_zero(f64 f) {
  return polynomial(f * f, 1.0, -0x1.3bd3cc9be45dep+2, 0x1.03c1f081b5ac4p+2, -0x1.55d3c7e3cbff7p+0,
                    0x1.e1f506891ae95p-3, -0x1.a6d1f2a086c90p-6, 0x1.f9d3870871194p-10, -0x1.b6de8b8e9ba08p-14,
                    0x1.1e745e5e09f6dp-18);
}

template <typename T>
struct SineCosine {
  T sine;
  T cosine;
};

/// sin πx and cos πx, for |x| <= 2^20. f32: 1.0 ulp; f64: 1.1.
template <typename T>
__device__ __forceinline__ SineCosine<T> sine_cosine_of_pi_times(T x) {
  const T halves = rint(2 * x);
  const T f = x - halves / 2;
  const i32 quadrant = static_cast<i32>(halves) & 3;
  const T sine = sine_near_zero(f);
  const T cosine = cosine_near_zero(f);
  const bool odd = (quadrant & 1) != 0;
  const T turned_sine = odd ? cosine : sine;
  const T turned_cosine = odd ? sine : cosine;
  return {(quadrant & 2) != 0 ? -turned_sine : turned_sine, ((quadrant + 1) & 2) != 0 ? -turned_cosine : turned_cosine};
}

}  // namespace iris::device::math
