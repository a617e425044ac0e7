#pragma once

#include "generator/plan/planning.hpp"

/// Operands whose rows begin at cache lines, and are filled to the end of their last one:
/// generator/plan/patterns/pad.cpp.
namespace irisgen {

/// Elements that a cache line holds.
inline std::int64_t elements_of_line(Dtype dtype) {
  return cache_line_bytes / iris::bytes_of(dtype);
}

/// From one such row of `columns` to the next.
inline Dimension padded_row(Dimension columns, Dtype dtype) {
  columns.multiple = elements_of_line(dtype);
  return columns;
}

}  // namespace irisgen
