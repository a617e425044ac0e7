#pragma once

#include <iris/device/math/exponential.hpp>

/// The error function: x + x·P(x²) near 0, from there on 1 - e^(x·Q(x)), with minimax polynomials P and Q, since
/// ln(1 - erf x) is smooth. Both are computed: of the numbers that threads of a wave have, some are near 0 as a rule,
/// and a branch would keep each number's operations from those of the next.
namespace iris::device::math {

__device__ __forceinline__ f32 erf(f32 x) {
  const f32 magnitude = abs(x);
  const f32 tail = polynomial(x * x, 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d6p-4f, -0x1.b80072p-6f, 0x1.544114p-8f,
                              -0x1.a5a5d2p-11f, 0x1.4de0fap-14f);
  const f32 near = platform::fma_rounded_once(x, tail, x);
  const f32 y = magnitude > 3.95f ? 3.95f : magnitude;
  const f32 exponent =
      polynomial(y, -0x1.20e67ap0f, -0x1.457bdcp-1f, -0x1.af310cp-4f, 0x1.771f98p-6f, -0x1.a59cdep-9f, 0x1.c12b4ap-13f);
  const f32 far = copysign(1 - normal_exp(y * exponent), x);
  return magnitude < 0.9f ? near : far;
}

__device__ __forceinline__ f64 erf(f64 x) {
  const f64 magnitude = abs(x);
  const f64 tail =
      polynomial(x * x, 0x1.06eba8214db69p-3, -0x1.812746b0379e3p-2, 0x1.ce2f21a042833p-4, -0x1.b82ce31273621p-6,
                 0x1.565bcd0a6d26p-8, -0x1.c02db31ea5cfcp-11, 0x1.f9a30755ff44ap-14, -0x1.f4cf6ed47cef8p-17,
                 0x1.b9b85cd4b8f28p-20, -0x1.5d8aa43777765p-23, 0x1.e2da68d8262edp-27, -0x1.d321fa3d28c7bp-31);
  const f64 near = platform::fma_rounded_once(x, tail, x);
  const f64 y = magnitude > 5.95 ? 5.95 : magnitude;
  const f64 exponent =
      polynomial(y, -0x1.20dd75985f18ep0, -0x1.45f2f90d2e2ecp-1, -0x1.a4f74e5e96117p-4, 0x1.39887e6ac3b55p-6,
                 0x1.8ce8d923e7bd9p-13, -0x1.b30fc348478bcp-10, 0x1.1a2e936765f26p-11, 0x1.0fa3e1ad12c97p-15,
                 -0x1.ea4664e292f75p-14, 0x1.1bc6a7fc826e4p-14, -0x1.a9eb418235a4p-16, 0x1.de07ae76edabdp-18,
                 -0x1.a0b1360e0430ep-20, 0x1.1b5c08cc8465cp-22, -0x1.28523f960f8f9p-25, 0x1.cd46b1ef093e8p-29,
                 -0x1.f7c6491f60e9ap-33, 0x1.586e0926e4194p-37, -0x1.bb889d23faa2p-43);
  const f64 far = copysign(1 - normal_exp(y * exponent), x);
  return magnitude < 0.9 ? near : far;
}

}  // namespace iris::device::math
