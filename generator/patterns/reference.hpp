#pragma once

#include "generator/pattern.hpp"

/// Arithmetic of the references, in float64 (i32: modulo 2^32), and the tolerances that go with it.
namespace irisgen {

/// Roundings of one addition or multiplication, relative: twice the unit roundoff of `dtype`, which leaves room for the
/// terms of second order. 0 for i32.
double epsilon(Dtype dtype);

/// The expectation of an element whose exact value is `exact` and whose kernel, computing before its last rounding,
/// errs by at most `error`: adds half a unit in the last place of `dtype`, and expects an infinity where the value
/// rounds to one.
void expect(Expectation& expectation, Dtype dtype, double exact, double error);

/// `values[rank][i]` reduced over the ranks for each i of [begin, begin + count). The tolerance of a sum is
/// (world - 1)·epsilon(accumulate)·Σ|x| and the last rounding; of a product (world - 1)·epsilon(accumulate)·|product|
/// and the last rounding; max and min are exact, NaN if any input is.
Expectation reduce_over_ranks(const KernelSpec& kernel, const std::vector<std::vector<Values>>& inputs,
                              std::int64_t begin, std::int64_t count);

/// Values that a kernel only moves.
Expectation exactly(Values values);

/// sums += a(rows,k)·b(k,columns), magnitudes += |a|·|b|; row-major, i32 modulo 2^32.
struct Product {
  Values sums;
  Values magnitudes;
};
void multiply_into(Product& product, Dtype dtype, const double* a, const Values& b, std::int64_t rows, std::int64_t k,
                   std::int64_t columns);

}  // namespace irisgen
