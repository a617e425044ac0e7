#pragma once

#include <bit>
#include <cstdint>

#include "iris/device/types.hpp"

/// How far functions of one number are from what they should be, at worst.
namespace iris::device::test {

template <typename T>
struct WorstError {
  double error = 0;
  T at = 0;

  void add(T x, double found) {
    if (!(found <= error)) *this = {found, x};  // NaN counts
  }
};

/// Of 2^21 values of every binade and sign, NaN and infinity included; all 2^32 take half an hour.
template <typename Error>
WorstError<f32> worst_error_of_f32(const Error& error) {
  constexpr std::uint64_t stride = 2047;
  WorstError<f32> worst;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride) {
    const f32 x = std::bit_cast<f32>(static_cast<std::uint32_t>(bits));
    worst.add(x, error(x));
  }
  return worst;
}

}  // namespace iris::device::test
