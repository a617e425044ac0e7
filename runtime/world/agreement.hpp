#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iris {

/// Whether the ranks of an operation launch alike: each compares its launch with what another has said of the same one.
/// Nobody waits for anybody, so a rank that is many launches behind is not compared. Lies in memory that all of them
/// share; zeros are a new one.
class Agreement {
 public:
  /// False if another rank has made this launch (counted from 1) with another digest.
  bool holds(std::uint64_t launch, std::uint64_t digest) {
    // The launch in the upper bits, so that a later one is a larger number.
    const std::uint64_t mine = launch << digest_bits | digest >> (64 - digest_bits);
    const std::atomic_ref said(said_.at(launch % said_.size()));
    std::uint64_t other = said.load(std::memory_order_relaxed);
    while (other >> digest_bits < launch) {
      if (said.compare_exchange_weak(other, mine, std::memory_order_relaxed)) return true;
    }
    return other >> digest_bits > launch || other == mine;
  }

 private:
  static constexpr int digest_bits = 24;
  static constexpr std::size_t remembered = 64;
  std::array<std::uint64_t, remembered> said_{};
};

}  // namespace iris
