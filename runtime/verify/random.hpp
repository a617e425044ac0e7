#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "irisgen/spec.hpp"

namespace iris {

/// Which numbers: the same four give the same numbers on every machine and backend.
struct RandomStream {
  std::uint64_t seed = 0;
  int rank = 0;
  int argument = 0;  ///< position in the manifest
  int launch = 0;
};

/// 64 random bits for one element (a counter-based generator: no state, any order).
std::uint64_t random_bits(const RandomStream& stream, std::uint64_t index);

/// One value, already rounded to `dtype`. Floats lie in [-1, 1]; for prod, magnitudes lie in [0.75, 1.25], so that no
/// product of 16 overflows f16. i32 takes all 2^32 values: its sums and products wrap around by definition.
double random_value(const RandomStream& stream, std::uint64_t index, Dtype dtype, Op op);

/// `count` of them, as float64.
std::vector<double> random_values(const RandomStream& stream, std::size_t count, Dtype dtype, Op op);

}  // namespace iris
