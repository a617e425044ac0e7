#pragma once

#include <iris/device/platform/keywords.hpp>
#include <iris/device/types.hpp>

namespace iris::device {

/// Whether a flag that counts up, and may wrap around, has come to `at_least`.
__device__ constexpr bool reached(u64 value, u64 at_least) {
  return static_cast<i64>(value - at_least) >= 0;
}

namespace platform {

/// Polls *flag until it has reached `at_least` or `timeout_ns` have passed, and returns the value last read. Acquires
/// what the flag's release store published. The clock costs more than the flag, so only every 256th poll reads it.
template <typename Poll>
__device__ u64 poll_until(const u64* flag, u64 at_least, u64 timeout_ns) {
  u64 start = 0;
  for (u32 polls = 1;; ++polls) {
    const u64 seen = Poll::load(flag);
    if (reached(seen, at_least)) {
      Poll::acquire();
      return seen;
    }
    if (polls % 256 == 0) {
      const u64 now = Poll::nanoseconds();
      if (start == 0) start = now;
      if (now - start > timeout_ns) return seen;
    }
    Poll::pause();
  }
}

}  // namespace platform
}  // namespace iris::device
