#pragma once

/// IRISGEN_HAS_ADDRESS_SANITIZER: it takes terabytes of address space, and keeps what is freed for a while.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRISGEN_HAS_ADDRESS_SANITIZER
#endif
/// IRISGEN_HAS_UNDEFINED_SANITIZER: it looks at an object by a pipe, and calls it none where no descriptor is left.
#if __has_feature(undefined_behavior_sanitizer)
#define IRISGEN_HAS_UNDEFINED_SANITIZER
#endif
#endif

namespace iris::test {

#ifdef IRISGEN_HAS_ADDRESS_SANITIZER
inline constexpr bool with_sanitizers = true;
#else
inline constexpr bool with_sanitizers = false;
#endif

}  // namespace iris::test
