#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "iris/world.hpp"

/// Sums of three ranks in memory that each has allocated itself.
namespace iris::test::adopted {

inline constexpr int n = 100;
inline constexpr std::size_t bytes = n * sizeof(int);

/// A rank's own memory, which begins elsewhere on each rank.
struct Own {
  explicit Own(const Context& context, std::size_t size = 4096)
      : memory(size + 4096, '\xa5'), begin(memory.data() + 256 * static_cast<std::size_t>(context.rank() + 1)) {}
  int* at(std::size_t offset) { return reinterpret_cast<int*>(begin + offset); }

  std::vector<char> memory;
  char* begin;
};

inline void fill(const Context& context, int* input, int launch = 0) {
  for (int i = 0; i < n; ++i) input[i] = (context.rank() + 1) * (i * i + launch);
}
inline void expect_sums(const int* output, int launch = 0) {
  for (int i = 0; i < n; ++i) ASSERT_EQ(output[i], 6 * (i * i + launch)) << i;
}

}  // namespace iris::test::adopted
