#pragma once

#include <iris/device/platform.hpp>

namespace iris::device::platform {

/// E4M3 FNUZ, the 8-bit float of CDNA 3 (AMD Instinct MI300 ISA guide, "Data types"), has the fields of the OCP's E4M3
/// with a bias of 8 instead of 7: the same bits are half the value. It has no -0, whose bits are its only NaN; the bits
/// of the OCP's NaNs are numbers there.
///
/// Four e4m3, as four FNUZ of half their values: zeros without a sign, NaN where there was one.
__device__ __forceinline__ u32 halved_as_fnuz(u32 bits) {
  constexpr u32 magnitudes = 0x7f7f7f7f;
  constexpr u32 signs = 0x80808080;
  const u32 magnitude = bits & magnitudes;
  // Sums of bytes up to 0x7f carry into their own sign, and no further.
  const u32 not_zero = (magnitude + magnitudes) & signs;
  const u32 is_nan = (magnitude + 0x01010101) & signs;
  const u32 finite = bits & (not_zero | magnitudes);
  return (finite & ~(is_nan - (is_nan >> 7))) | is_nan;
}

}  // namespace iris::device::platform
