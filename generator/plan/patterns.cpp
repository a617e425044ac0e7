#include <algorithm>
#include <array>
#include <stdexcept>

#include "irisgen/pattern.hpp"

namespace irisgen {

// One row each, defined in the file of its name in patterns/.
extern const Pattern all_reduce, all_gather, reduce_scatter, all_to_all, broadcast;
extern const Pattern user_kernel, barrier, map, pad;
extern const Pattern matmul, all_gather_matmul, matmul_reduce_scatter, matmul_all_reduce, matmul_all_gather;

namespace {

/// What no description names.
constexpr std::array unnamed = {&user_kernel, &barrier, &map, &pad};

}  // namespace

std::span<const Pattern* const> patterns() {
  static constexpr std::array table = {
      &all_reduce, &all_gather,        &reduce_scatter,        &all_to_all,        &broadcast,
      &matmul,     &all_gather_matmul, &matmul_reduce_scatter, &matmul_all_reduce, &matmul_all_gather,
  };
  return table;
}

const Pattern* find_pattern(std::string_view name) {
  for (const std::span<const Pattern* const> table : {patterns(), std::span<const Pattern* const>(unnamed)}) {
    const auto found = std::ranges::find(table, name, &Pattern::name);
    if (found != table.end()) return *found;
  }
  return nullptr;
}

const Pattern& pattern_of(const Problem& problem) {
  if (const Pattern* pattern = find_pattern(problem.pattern)) return *pattern;
  throw std::runtime_error("there is no pattern '" + problem.pattern + "' in this irisgen");
}

std::int64_t bus_size(const Problem& problem) {
  const BusConvention* bus = pattern_of(problem).bus;
  if (!bus) return 0;
  const std::int64_t elements = iris::size_of(problem);
  return elements * (bus->size_has_world ? problem.world : 1) * iris::bytes_of(problem.dtype);
}

}  // namespace irisgen
