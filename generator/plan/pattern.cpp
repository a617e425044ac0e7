#include "irisgen/pattern.hpp"

#include <algorithm>
#include <array>

#include "generator/plan/patterns/patterns.hpp"

namespace irisgen {

std::span<const Pattern* const> patterns() {
  static constexpr std::array table = {&all_reduce, &all_gather,        &reduce_scatter,       &all_to_all,
                                       &broadcast,  &all_gather_matmul, &matmul_reduce_scatter};
  return table;
}

const Pattern* find_pattern(std::string_view name) {
  const auto found = std::ranges::find(patterns(), name, &Pattern::name);
  return found == patterns().end() ? nullptr : *found;
}

}  // namespace irisgen
