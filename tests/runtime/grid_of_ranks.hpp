#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "iris/operation.hpp"
#include "iris/world.hpp"

namespace iris::test {

/// Four ranks in two rows, {0, 1} and {2, 3}, and two columns, {0, 2} and {1, 3}. Each round sums over a row, whose
/// result goes on to a column, which gathers it, and is summed up again in the next. `sum` and `gather` are of two
/// ranks and 96 integers at most, `n` dynamic. What is wrong, in words.
inline std::string rows_and_columns(Context& context, const BuiltOperation& sum, const BuiltOperation& gather,
                                    int rounds) {
  constexpr std::int64_t n = 96;
  constexpr std::size_t bytes = n * sizeof(std::int32_t);
  const int rank = context.rank();
  Group row = context.group(rank < 2 ? std::vector{0, 1} : std::vector{2, 3});
  Group column = context.group(rank % 2 == 0 ? std::vector{0, 2} : std::vector{1, 3});
  Operation sum_of_row(row, sum, {{"n", n}});
  Operation gather_column(column, gather, {{"n", n}});
  void* input = row.allocate(bytes);
  void* summed = context.allocate(bytes);
  void* gathered = column.allocate(2 * bytes);

  const auto value = [](int of_rank, int round, std::int64_t i) {
    return static_cast<std::int32_t>((of_rank + 3) * (i + 1) + 1000 * round);
  };
  std::vector<std::int32_t> mine(n);
  std::vector<std::int32_t> all(2 * n);
  for (int round = 0; round < rounds; ++round) {
    for (std::int64_t i = 0; i < n; ++i) mine[static_cast<std::size_t>(i)] = value(rank, round, i);
    context.device().copy(input, mine.data(), bytes);
    context.device().fill(gathered, 0xa5, 2 * bytes);
    sum_of_row.launch({input, summed}, {{"n", n}});
    gather_column.launch({summed, gathered}, {{"n", n}});
    context.synchronize();
    context.device().copy(all.data(), gathered, 2 * bytes);
    for (std::int64_t i = 0; i < 2 * n; ++i) {
      const int first_of_row = i < n ? 0 : 2;
      const std::int32_t expected = value(first_of_row, round, i % n) + value(first_of_row + 1, round, i % n);
      const std::int32_t actual = all[static_cast<std::size_t>(i)];
      if (actual == expected) continue;
      return "round " + std::to_string(round) + ", rank " + std::to_string(rank) + ", element " + std::to_string(i) +
             ": " + std::to_string(actual) + ", not " + std::to_string(expected);
    }
  }
  context.barrier();
  return {};
}

}  // namespace iris::test
