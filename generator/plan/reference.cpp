#include "generator/plan/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace irisgen {
namespace {

/// Significand bits (the hidden one included), smallest positive value and largest finite value of a floating type.
struct FloatFormat {
  int precision;
  double smallest;
  double largest;
};
FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {11, 0x1p-24, 65504};
    case Dtype::bf16:
      return {8, 0x1p-133, 0x1.fep127};
    case Dtype::e4m3:
      return {4, 0x1p-9, 448};
    case Dtype::f32:
    case Dtype::tf32:  // as it lies in memory
      return {24, 0x1p-149, 0x1.fffffep127};
    default:
      return {53, 0x1p-1074, std::numeric_limits<double>::max()};
  }
}

double wrapped(std::uint32_t bits) {
  return static_cast<std::int32_t>(bits);
}
std::uint32_t bits_of(double value) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
}

std::uint32_t apply_wrapping(Op op, std::uint32_t a, std::uint32_t b) {
  return op == Op::sum ? a + b : a * b;
}

double apply(Op op, double a, double b) {
  switch (op) {
    case Op::sum:
      return a + b;
    case Op::prod:
      return a * b;
    case Op::max:
      return a > b || std::isnan(a) ? a : b;
    case Op::min:
      return a < b || std::isnan(a) ? a : b;
    case Op::function:
      break;
  }
  throw std::logic_error("nothing is known of an operation of the user's own");
}

bool is_exact(const Problem& problem) {
  return problem.dtype == Dtype::i32 || problem.op == Op::max || problem.op == Op::min;
}

double reduce_exactly(Op op, const std::vector<std::vector<Values>>& inputs, std::size_t at) {
  double result = inputs[0][0][at];
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    const double next = inputs[rank][0][at];
    const bool wraps = op == Op::sum || op == Op::prod;
    result = wraps ? wrapped(apply_wrapping(op, bits_of(result), bits_of(next))) : apply(op, result, next);
  }
  return result;
}

Values transposed(const Values& matrix, std::int64_t rows, std::int64_t columns) {
  Values result(matrix.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      result[column * rows + row] = matrix[row * columns + column];
    }
  }
  return result;
}

void multiply_wrapping(Product& product, const double* a, const Values& b, std::int64_t rows, std::int64_t k,
                       std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      std::uint32_t sum = bits_of(product.sums[i * columns + j]);
      for (std::int64_t depth = 0; depth < k; ++depth)
        sum += bits_of(a[i * k + depth]) * bits_of(b[depth * columns + j]);
      product.sums[i * columns + j] = wrapped(sum);
    }
  }
}

}  // namespace

double epsilon(Dtype dtype) {
  return dtype == Dtype::i32 ? 0 : std::ldexp(2.0, -format_of(dtype).precision);
}

void expect(Expectation& expectation, Dtype dtype, double exact, double error) {
  if (dtype == Dtype::i32 || std::isnan(exact) || std::isinf(exact)) {
    expectation.value.push_back(exact);
    expectation.tolerance.push_back(0);
    return;
  }
  const FloatFormat format = format_of(dtype);
  const double magnitude = std::abs(exact);
  const double half_unit = std::ldexp(magnitude + error, -format.precision) + format.smallest / 2;
  const double tolerance = error + (dtype == Dtype::f64 ? 0 : half_unit);
  // What lies half a unit or more above the largest finite value rounds to infinity.
  const double overflow = format.largest * (1 + std::ldexp(0.5, -format.precision));
  if (dtype != Dtype::f64 && magnitude - error >= overflow) {
    expectation.value.push_back(std::copysign(std::numeric_limits<double>::infinity(), exact));
    expectation.tolerance.push_back(0);
    return;
  }
  const bool may_overflow = dtype != Dtype::f64 && magnitude + error >= overflow;
  expectation.value.push_back(exact);
  expectation.tolerance.push_back(may_overflow ? std::numeric_limits<double>::infinity() : tolerance);
}

Expectation reduce_over_ranks(const Problem& problem, const std::vector<std::vector<Values>>& inputs,
                              std::int64_t begin, std::int64_t count) {
  Expectation expectation;
  expectation.value.reserve(count);
  expectation.tolerance.reserve(count);
  const Op op = problem.op.value();
  const double roundings = static_cast<double>(inputs.size() - 1) * epsilon(problem.accumulate);
  for (std::int64_t i = begin; i < begin + count; ++i) {
    if (is_exact(problem)) {
      const double exact = reduce_exactly(op, inputs, i);
      if (problem.result == problem.dtype) {
        expectation.value.push_back(exact);
        expectation.tolerance.push_back(0);
      } else {
        expect(expectation, problem.result, exact, 0);
      }
      continue;
    }
    double result = inputs[0][0][i];
    double magnitude = std::abs(result);
    double largest = magnitude;  // of the partial results: one that overflows is infinite, whatever follows
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
      result = apply(op, result, inputs[rank][0][i]);
      magnitude = op == Op::sum ? magnitude + std::abs(inputs[rank][0][i]) : std::abs(result);
      largest = std::max(largest, std::abs(result));
    }
    double error = inputs.size() > 1 ? roundings * magnitude : 0;
    if (largest + error >= format_of(problem.accumulate).largest) error = std::numeric_limits<double>::infinity();
    expect(expectation, problem.result, result, error);
  }
  return expectation;
}

Expectation exactly(Values values) {
  Expectation expectation;
  expectation.tolerance.assign(values.size(), 0);
  expectation.value = std::move(values);
  return expectation;
}

namespace {

/// Products that are added with fewer bits than the accumulator has, before their sum goes to it, where matrix units
/// may do that: see product_error().
std::optional<std::int64_t> truncated_block(const Problem& problem) {
  if (problem.dtype == Dtype::e4m3 && problem.accumulate == Dtype::f32) return 128;
  return std::nullopt;
}

/// b of k rows and so many columns; so many products are added at once.
void multiply_row_major(Product& product, Dtype dtype, const double* a, const Values& b, double scale,
                        std::int64_t rows, std::int64_t k, std::int64_t columns, std::int64_t block) {
  if (dtype == Dtype::i32) {
    multiply_wrapping(product, a, b, rows, k, columns);
    return;
  }
  Values whole(static_cast<std::size_t>(columns));  // of one row of this product
  Values sums(static_cast<std::size_t>(columns));   // of a block of it
  for (std::int64_t i = 0; i < rows; ++i) {
    std::ranges::fill(whole, 0.0);
    double* const totals = product.sums.data() + i * columns;
    double* const partials = product.partials.data() + i * columns;
    double* const magnitudes = product.magnitudes.data() + i * columns;
    double* const terms = product.terms.data() + i * columns;
    for (std::int64_t begin = 0; begin < k; begin += block) {
      std::ranges::fill(sums, 0.0);
      for (std::int64_t depth = begin; depth < std::min(k, begin + block); ++depth) {
        const double factor = scale * a[i * k + depth];
        const double* const row = b.data() + depth * columns;
        for (std::int64_t j = 0; j < columns; ++j) {
          sums[j] += factor * row[j];
          partials[j] += std::abs(sums[j]);
        }
        if (dtype != Dtype::tf32) continue;
        for (std::int64_t j = 0; j < columns; ++j) terms[j] += std::abs(factor * row[j]);
      }
      for (std::int64_t j = 0; j < columns; ++j) whole[j] += sums[j];
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      totals[j] += whole[j];
      partials[j] += std::abs(totals[j]);
      magnitudes[j] += std::abs(whole[j]);
    }
  }
}

}  // namespace

void multiply_into(Product& product, const Problem& problem, const double* a, const std::vector<Values>& of_rank,
                   std::int64_t rows, std::int64_t k, std::int64_t columns) {
  const double scale = problem.dtype == Dtype::e4m3 ? of_rank[2][0] * of_rank[3][0] : 1;
  const auto multiply = [&](const Values& b) {
    multiply_row_major(product, problem.dtype, a, b, scale, rows, k, columns, truncated_block(problem).value_or(k));
  };
  if (problem.layout_b == iris::Layout::nk) {
    multiply(transposed(of_rank[1], columns, k));
  } else {
    multiply(of_rank[1]);
  }
}

double product_error(const Product& product, std::size_t element, const Problem& problem) {
  // A partial sum that overflows is infinite, whatever follows; none is larger than all of them together.
  if (product.partials[element] >= format_of(problem.accumulate).largest)
    return std::numeric_limits<double>::infinity();
  if (truncated_block(problem)) return std::ldexp(product.partials[element], -13);
  const double scaling = problem.dtype == Dtype::e4m3 ? 2 * epsilon(Dtype::f32) * std::abs(product.sums[element]) : 0;
  constexpr double of_operands = 0x1p-10 + 0x1p-22;
  return scaling + of_operands * product.terms[element] + 2 * epsilon(problem.accumulate) * product.partials[element];
}

Expectation expect_product(const Product& product, const Problem& problem) {
  Expectation expectation;
  for (std::size_t i = 0; i < product.sums.size(); ++i) {
    expect(expectation, problem.result, product.sums[i], product_error(product, i, problem));
  }
  return expectation;
}

Expectation expect_sum_of_products(const Product& product, const Problem& problem) {
  if (problem.result == problem.accumulate) return expect_product(product, problem);
  const FloatFormat format = format_of(problem.result);
  Expectation expectation;
  for (std::size_t i = 0; i < product.sums.size(); ++i) {
    const double magnitude = product.magnitudes[i];
    const double error = product_error(product, i, problem);
    const double roundings =
        std::ldexp(magnitude + error, -format.precision) + static_cast<double>(problem.world) * format.smallest / 2;
    const bool may_overflow = magnitude + error >= format.largest;  // one of the products
    expect(expectation, problem.result, product.sums[i],
           may_overflow ? std::numeric_limits<double>::infinity() : error + roundings);
  }
  return expectation;
}

}  // namespace irisgen
