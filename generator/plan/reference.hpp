#pragma once

#include "irisgen/pattern.hpp"

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
Expectation reduce_over_ranks(const Problem& problem, const std::vector<std::vector<Values>>& inputs,
                              std::int64_t begin, std::int64_t count);

/// Values that a kernel only moves.
Expectation exactly(Values values);

/// A sum of products of matrices: its value, and for each element Σ|partial sum| over all additions that led there
/// (where e4m3 is summed in f32 another measure: see product_error()), Σ|product|, and of tf32 Σ|a·b|.
struct Product {
  explicit Product(std::int64_t elements)
      : sums(static_cast<std::size_t>(elements)),
        partials(static_cast<std::size_t>(elements)),
        magnitudes(static_cast<std::size_t>(elements)),
        terms(static_cast<std::size_t>(elements)) {}
  Values sums;
  Values partials;
  Values magnitudes;
  Values terms;
};

/// sums += a(rows,k)·b(k,columns), each product summed over k by itself; b in the problem's layout, all else row-major,
/// i32 modulo 2^32. `of_rank`: the inputs of the rank that multiplies, of which b is the second and scales follow.
void multiply_into(Product& product, const Problem& problem, const double* a, const std::vector<Values>& of_rank,
                   std::int64_t rows, std::int64_t k, std::int64_t columns);

/// The error of one element of a Product that a kernel accumulates as the problem says: 2·epsilon(accumulate)·Σ|partial
/// sum|. An addition rounds by its own result, so this is far less than k·epsilon·Σ|a·b|, which would let a kernel
/// forget terms of a long sum. Twice, since a product may be rounded by itself, and matrix units add in another order.
///
/// Of e4m3 summed in f32 it is Σ|partial sum of a block of 128 products| / 2^13, the matrix units of sm_90a adding each
/// product to the sum of its block with 14 bits or so (DeepSeek-V3 Technical Report, section 3.5.2), and blocks being
/// added in f32. In f64 it is that of any product, and that of the scales in f32.
///
/// Of tf32 (2^-10 + 2^-22)·Σ|a·b| comes on top: operands are f32 here, and each is rounded to nearest, to 11 bits of
/// significand, before it is multiplied.
double product_error(const Product& product, std::size_t element, const Problem& problem);

/// A product that is summed in the problem's accumulator and rounded once, to its result.
Expectation expect_product(const Product& product, const Problem& problem);
/// Products that are each rounded to the problem's result, then summed in its accumulator and rounded once more.
Expectation expect_sum_of_products(const Product& product, const Problem& problem);

}  // namespace irisgen
