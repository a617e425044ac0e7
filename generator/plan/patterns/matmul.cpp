#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  return product_arguments(problem, {{"m"}, {"k"}}, {"n"}, {{"m"}, {"n"}});
}

Products products() {
  return {.rows = {"m"}, .columns = {"n"}, .a_rows = {"m"}};
}

Draft plan_tiled(const Request& request) {
  KernelPlan kernel = start_local_kernel(request, "matmul/tiled.hip");
  choose_tiles(request, kernel, products());
  choose_matmul_grid(request, kernel, products());
  add_types(request, kernel, {.result = true, .accumulate = true});
  kernel.arguments = place(arguments(request.problem), 16, {});
  return draft_of(std::move(kernel), InPlace::no);
}

std::vector<Work> cost_of_tiled(const Problem& problem, const Target& target, const Draft& draft) {
  double bytes = 0;
  for (const Argument& argument : arguments(problem)) bytes += matrix_bytes(problem, argument.shape, argument.dtype);
  return {{.memory_bytes = bytes, .multiply_us = multiply_us(problem, target, draft.kernels[0], products())}};
}

constexpr std::array<std::string_view, 1> templates = {"matmul/tiled.hip"};

constexpr std::array variants = {
    Variant{.name = "tiled",
            .summary = "blocks take the tiles of the output in turn",
            .templates = templates,
            .keys = tile_keys,
            .plan = plan_tiled,
            .cost = cost_of_tiled},
};

/// Tolerance: product_error() and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  std::vector<Expectation> expectations;
  for (const auto& of_rank : inputs) {
    Product product(m * n);
    multiply_into(product, problem, of_rank[0].data(), of_rank, m, problem.extent("k").value, n);
    expectations.push_back(expect_product(product, problem));
  }
  return expectations;
}

}  // namespace

extern const Pattern matmul = {
    .name = "matmul",
    .summary = "A(m,k), B(k,n) -> (m,n): each rank's own product",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .product = whole_product,
};

}  // namespace irisgen
