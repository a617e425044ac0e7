#pragma once

#include <algorithm>
#include <cstddef>

namespace iris {

/// The least number of bytes that is no less than `bytes` and a multiple of `unit`; one unit for none.
constexpr std::size_t whole_units(std::size_t bytes, std::size_t unit) {
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

}  // namespace iris
