#pragma once

#include <cstdint>

#include "runtime/host/address_sanitizer.hpp"

/// IRISGEN_HAS_UNDEFINED_SANITIZER: it looks at an object by a pipe, and calls it none where no descriptor is left.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define IRISGEN_HAS_UNDEFINED_SANITIZER
#endif
#endif

namespace iris::test {

/// AddressSanitizer takes terabytes of address space, and keeps what is freed for a while.
inline constexpr bool with_sanitizers = host::under_address_sanitizer;

/// Of so many orders of execution those that are tried: with sanitizers each takes ten times as long, and what they
/// look for does not hang on the order.
constexpr std::uint64_t orders(std::uint64_t of_all) {
  return with_sanitizers ? (of_all + 7) / 8 : of_all;
}

}  // namespace iris::test
