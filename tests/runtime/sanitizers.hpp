#pragma once

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

}  // namespace iris::test
