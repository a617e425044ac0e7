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

/// Two words of 64 bits, aligned to 16 bytes. Where both have a mark in their upper halves, each is written and read as
/// a whole; where only the last one has, both together are.
struct Words {
  u64 values[2];
};

/// Polls pairs of words until all their marks, so many in each pair, are `mark` or `timeout_ns` have passed. Returns
/// the number of a pair that lacks it, or -1; `seen` is what was last read.
template <typename Poll, int marks, int count>
__device__ __forceinline__ i32 poll_words(const u64* const (&places)[count], u32 mark, u64 timeout_ns,
                                          Words (&seen)[count]) {
  u64 start = 0;
  for (u32 polls = 1;; ++polls) {
#pragma unroll
    for (int i = 0; i < count; ++i) seen[i] = Poll::load_words(places[i]);
    i32 missing = -1;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const bool is_whole = seen[i].values[1] >> 32 == mark && (marks == 1 || seen[i].values[0] >> 32 == mark);
      if (!is_whole) missing = i;
    }
    if (missing < 0) return missing;
    if (polls % 256 == 0) {
      const u64 now = Poll::nanoseconds();
      if (start == 0) start = now;
      if (now - start > timeout_ns) return missing;
    }
    Poll::pause();
  }
}

}  // namespace platform
}  // namespace iris::device
