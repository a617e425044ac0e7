// What verification lets pass: kernels that compute as promised, and none that cut a corner.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "iris/values.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/spec.hpp"
#include "runtime/verify/random.hpp"

namespace iris::tolerance_test {
namespace {

using irisgen::Values;

using Inputs = std::vector<std::vector<Values>>;  // [rank][argument]

constexpr int world = 8;

Problem problem_of(const std::string& text) {
  const std::string kernel = "{name: a, world: " + std::to_string(world) + ", " + text + "}";
  return irisgen::parse_spec("spec.yaml", "irisgen: 1\nkernels: [" + kernel + "]\n").kernels.at(0).problem;
}

/// As run_operation draws them.
Inputs random_inputs(const Problem& problem, const std::vector<std::size_t>& counts) {
  Inputs inputs(world);
  for (int rank = 0; rank < world; ++rank) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const RandomStream stream{.seed = 5, .rank = rank, .argument = static_cast<int>(i)};
      inputs[static_cast<std::size_t>(rank)].push_back(random_values(stream, counts[i], problem.dtype, Op::sum));
    }
  }
  return inputs;
}

/// How much of rank 0's output verification finds wrong, where the kernel's last act is to round `values`.
double share_found_wrong(const Problem& problem, const Inputs& inputs, const Values& values) {
  const auto expected = irisgen::pattern_of(problem).reference(problem, inputs);
  const Comparison found = compare(to_bytes(values, problem.dtype), problem.dtype, expected.at(0));
  return static_cast<double>(found.wrong) / static_cast<double>(values.size());
}

// --- sums over ranks

/// Sums `ranks` inputs in rank order, every partial sum rounded to `accumulate`.
Values sums_over(const Inputs& inputs, std::size_t ranks, Dtype accumulate) {
  Values sums = inputs[0][0];
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = round_to(sums[i] + inputs[rank][0][i], accumulate);
  }
  return sums;
}

struct Sum {
  const char* dtype;
  Dtype promised;
  Dtype cheaper;
};

class SumTolerance : public testing::TestWithParam<Sum> {};

TEST_P(SumTolerance, LetsPassWhatWasPromisedAndNothingCheaper) {
  const Problem problem = problem_of("pattern: all_reduce, shape: {n: 20000}, dtype: " + std::string(GetParam().dtype));
  ASSERT_EQ(problem.accumulate, GetParam().promised);
  const Inputs inputs = random_inputs(problem, {20000});
  const auto share = [&](const Values& values) { return share_found_wrong(problem, inputs, values); };
  EXPECT_EQ(share(sums_over(inputs, world, GetParam().promised)), 0);
  EXPECT_GT(share(sums_over(inputs, world, GetParam().cheaper)), 0.25);
  EXPECT_GT(share(sums_over(inputs, world - 1, GetParam().promised)), 0.9) << "a rank is missing";
}

INSTANTIATE_TEST_SUITE_P(All, SumTolerance,
                         testing::Values(Sum{"f16", Dtype::f32, Dtype::f16}, Sum{"bf16", Dtype::f32, Dtype::bf16},
                                         Sum{"f32", Dtype::f32, Dtype::f16}, Sum{"f64", Dtype::f64, Dtype::f32}),
                         [](const auto& info) { return info.param.dtype; });

// --- products of matrices

constexpr std::int64_t k = 4096;
constexpr std::int64_t columns = 24;

/// Depths of a sum over k that a wrong kernel leaves out.
struct LeftOut {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool contains(std::int64_t depth) const { return depth >= first && depth < first + count; }
};

/// A row of a times b, summed over k in f32 by fused multiply-adds, as device/main_loop/fma.hpp does it.
Values row_times_matrix(const double* a, const Values& b, const LeftOut& left_out) {
  Values sums;
  for (std::int64_t column = 0; column < columns; ++column) {
    float sum = 0;
    for (std::int64_t depth = 0; depth < k; ++depth) {
      if (left_out.contains(depth)) continue;
      const auto factor = static_cast<float>(b[static_cast<std::size_t>(depth * columns + column)]);
      sum = std::fma(static_cast<float>(a[depth]), factor, sum);
    }
    sums.push_back(sum);
  }
  return sums;
}

Values gathered_product(const Inputs& inputs, const LeftOut& left_out) {
  Values output;
  for (const auto& arguments : inputs) {
    const Values row = row_times_matrix(arguments[0].data(), inputs[0][1], left_out);
    output.insert(output.end(), row.begin(), row.end());
  }
  return output;
}

Values scattered_sum(const Inputs& inputs, const LeftOut& left_out) {
  Values output(columns);
  for (const auto& arguments : inputs) {
    const Values row = row_times_matrix(arguments[0].data(), arguments[1], left_out);
    for (std::size_t i = 0; i < output.size(); ++i) output[i] = round_to(output[i] + row[i], Dtype::f32);
  }
  return output;
}

/// k is long: an error bound that grows with k and with Σ|a·b| would hide a slice of 16, and certainly a single depth.
TEST(ProductTolerance, FindsADepthThatWasLeftOut) {
  const Problem gather = problem_of("pattern: all_gather_matmul, dtype: f32, shape: {m: 8, n: 24, k: 4096}");
  const Inputs gathered = random_inputs(gather, {k, k * columns});
  const Problem scatter = problem_of("pattern: matmul_reduce_scatter, dtype: f32, shape: {m: 8, n: 24, k: 4096}");
  const Inputs scattered = random_inputs(scatter, {world * k, k * columns});
  const Problem all = problem_of("pattern: matmul_all_reduce, dtype: f32, shape: {m: 1, n: 24, k: 4096}");
  const Inputs reduced = random_inputs(all, {k, k * columns});
  const auto found = [&](const LeftOut& left_out) {
    return std::vector{share_found_wrong(gather, gathered, gathered_product(gathered, left_out)),
                       share_found_wrong(scatter, scattered, scattered_sum(scattered, left_out)),
                       share_found_wrong(all, reduced, scattered_sum(reduced, left_out))};
  };
  EXPECT_EQ(found({}), (std::vector<double>{0, 0, 0}));
  for (const LeftOut& left_out : {LeftOut{2048, 16}, LeftOut{k - 1, 1}}) {
    for (const double share : found(left_out)) EXPECT_GT(share, 0.8) << left_out.count;
  }
}

}  // namespace
}  // namespace iris::tolerance_test
