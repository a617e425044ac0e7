#pragma once

#include <iris/device/platform.hpp>

/// The square root from a rough reciprocal of it, for platforms that have only that.
namespace iris::device::platform {

template <int bytes>
struct FloatBitsOf;
template <>
struct FloatBitsOf<4> {
  using type = u32;
};
template <>
struct FloatBitsOf<8> {
  using type = u64;
};

/// The square root of x, correctly rounded, if `reciprocal` is 1 / √x to 2^-22 or better and all steps stay within the
/// normal numbers: Goldschmidt's iteration, then Tuckerman's test of the neighbours (P. Markstein, Software Division
/// and Square Root Using Goldschmidt's Algorithms, 2004; Muller et al., Handbook of Floating-Point Arithmetic): a
/// number s is the root where s · (s - ulp) < x <= s · (s + ulp). `fma` rounds once, hence the sign of a residual is
/// exact.
template <typename T, T fma(T, T, T)>
__device__ __forceinline__ T square_root_from_reciprocal(T x, T reciprocal) {
  using Bits = typename FloatBitsOf<sizeof(T)>::type;
  const T half = T(0.5) * reciprocal;
  const T rough = x * reciprocal;
  const T error = fma(-half, rough, T(0.5));
  const T half_reciprocal = fma(half, error, half);
  const T better = fma(rough, error, rough);
  const T root = fma(fma(-better, better, x), half_reciprocal, better);
  const T below = __builtin_bit_cast(T, __builtin_bit_cast(Bits, root) - 1);
  const T above = __builtin_bit_cast(T, __builtin_bit_cast(Bits, root) + 1);
  return fma(-below, root, x) <= 0 ? below : fma(-above, root, x) > 0 ? above : root;
}

}  // namespace iris::device::platform
