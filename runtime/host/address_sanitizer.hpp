#pragma once

/// Defines IRIS_ADDRESS_SANITIZER where this is built with it.
#if defined(__SANITIZE_ADDRESS__)
#define IRIS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRIS_ADDRESS_SANITIZER 1
#endif
#endif

namespace iris::host {

#ifdef IRIS_ADDRESS_SANITIZER
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

}  // namespace iris::host
