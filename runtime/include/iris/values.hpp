#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "irisgen/pattern.hpp"
#include "irisgen/spec.hpp"

namespace iris {

/// The bytes of float64 values as elements of `dtype`: rounded to nearest even, overflow to infinity; i32 takes the
/// value modulo 2^32. Written independently of device/, since the tests of kernels rest on it.
std::vector<std::byte> to_bytes(std::span<const double> values, Dtype dtype);

/// The elements as float64, exactly. Throws std::invalid_argument if the bytes are no whole number of elements.
irisgen::Values to_values(std::span<const std::byte> bytes, Dtype dtype);

/// `value` rounded to the nearest element of `dtype`.
double round_to(double value, Dtype dtype);

/// A byte that, repeated, is a value no test data contains: NaN for floats, a large negative number for i32. Outputs
/// are filled with it before a launch, so that an element which the kernel forgot cannot pass.
unsigned char poison_byte(Dtype dtype);

/// How one buffer compares with what it must hold. `index` is the element whose error is largest against its tolerance.
struct Comparison {
  std::int64_t wrong = 0;   ///< elements whose error is over their tolerance
  std::int64_t index = -1;  ///< -1 for an empty buffer
  double actual = 0;
  double expected = 0;
  double error = 0;      ///< at index; NaN where exactly one of both is NaN
  double tolerance = 0;  ///< at index
  double severity = 0;   ///< error / tolerance at index; infinite for an error where none is tolerated
  bool passed() const { return wrong == 0; }
};

/// Checks every element. NaN is right where NaN is expected, but not the one that poison_byte() left there, where a
/// type has several of each sign: nobody has written it. An infinity is right where it is expected or where the
/// expected value, its tolerance added, rounds to it. Throws std::invalid_argument if the sizes differ.
Comparison compare(std::span<const std::byte> actual, Dtype dtype, const irisgen::Expectation& expected);

}  // namespace iris
