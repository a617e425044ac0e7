#pragma once

#include <cstddef>
#include <cstdint>

#include "iris/world.hpp"
#include "runtime/world/context.hpp"
#include "runtime/world/group.hpp"

/// Heaps that grow, and values that fill what has grown.
namespace iris::test {

inline constexpr std::size_t MiB = std::size_t{1} << 20;
inline constexpr std::size_t first = 4096;      ///< bytes that are mapped from the start
inline constexpr std::size_t limit = 64 * MiB;  ///< bytes that a heap grows to

inline std::size_t mapped(const Context& context) {
  return context.state().context.memory.mapped();
}

inline std::uint32_t value(int rank, std::size_t i) {
  return static_cast<std::uint32_t>(rank + 1) * 2654435761U + static_cast<std::uint32_t>(i * i);
}

inline void write(void* memory, std::size_t bytes, int rank) {
  auto* const values = static_cast<std::uint32_t*>(memory);
  for (std::size_t i = 0; i < bytes / 4; ++i) values[i] = value(rank, i);
}

inline std::size_t wrong_values(const void* memory, std::size_t bytes, int rank) {
  const auto* const values = static_cast<const std::uint32_t*>(memory);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes / 4; ++i) wrong += values[i] != value(rank, i) ? 1U : 0U;
  return wrong;
}

/// Every member has written its own; each looks at all.
inline std::size_t wrong_on_peers(Group& group, void* memory, std::size_t bytes) {
  write(memory, bytes, group.ranks()[static_cast<std::size_t>(group.rank())]);
  group.barrier();
  std::size_t wrong = 0;
  for (int peer = 0; peer < group.num_ranks(); ++peer) {
    wrong += wrong_values(group.on_rank(memory, peer), bytes, group.ranks()[static_cast<std::size_t>(peer)]);
  }
  group.barrier();
  return wrong;
}

}  // namespace iris::test
