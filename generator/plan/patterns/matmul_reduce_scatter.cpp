#include "generator/plan/compose.hpp"
#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/portions.hpp"
#include "generator/plan/product_lines.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  return product_arguments(problem, {{"m"}, {"k"}}, {"n"}, {{"m", 1, problem.world}, {"n"}});
}

/// Of a rank's rows of one product.
double slot_bytes(const Problem& problem) {
  return matrix_bytes(problem, {{"m", 1, problem.world}, {"n"}}, problem.result);
}

Products products(const Problem& problem, bool moves_by_blocks) {
  return {.rows = {"m", 1, problem.world},
          .columns = {"n"},
          .count = problem.world,
          .a_rows = {"m"},
          .moves_by_blocks = moves_by_blocks,
          .shipped_bytes = problem.is_static() ? (problem.world - 1) * slot_bytes(problem) : 0,
          .completes_tiles = true,
          .sums_tiles = true,
          .parts = problem.world};
}

/// What both kernels have.
Draft plan_kernel(const Request& request, KernelPlan kernel, const Products& products) {
  const Problem& problem = request.problem;
  choose_pace(request, kernel, products);
  choose_summing(request, kernel, problem.world);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, multiplying_blocks(kernel) * problem.world);
  kernel.workspace = slots_of_tiles(problem, kernel);
  kernel.arguments = place(arguments(problem), 16, {});
  return draft_of(std::move(kernel), InPlace::no);
}

Draft plan_workgroup_specialized(const Request& request) {
  const Products of_kernel = products(request.typical(), true);
  KernelPlan kernel = start_kernel(request, "matmul_reduce_scatter/workgroup_specialized.hip");
  choose_tiles(request, kernel, of_kernel);
  choose_roles(request, kernel, of_kernel, "sum what has arrived");
  return plan_kernel(request, std::move(kernel), of_kernel);
}

Draft plan_fused_sequential(const Request& request) {
  const Products of_kernel = products(request.typical(), false);
  KernelPlan kernel = start_kernel(request, "matmul_reduce_scatter/fused_sequential.hip");
  choose_tiles(request, kernel, of_kernel);
  choose_matmul_grid(request, kernel, of_kernel);
  return plan_kernel(request, std::move(kernel), of_kernel);
}

std::vector<Work> cost(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& kernel = draft.kernels[0];
  const double slot = slot_bytes(problem);
  return {{.link_bytes = (problem.world - 1) * slot,
           .memory_bytes = 2 * problem.world * slot,
           .multiply_us = multiply_us(problem, target, kernel, products(problem, has_roles(kernel))),
           .summing_us = has_roles(kernel) ? summing_us(kernel, problem.world * slot) : 0,
           .signals = 1}};
}

SumsInLines lines(const Problem& problem) {
  return {.arguments = arguments(problem), .sent = (problem.world - 1.0) / problem.world, .ranks = problem.world};
}

Draft plan_low_latency(const Request& request) {
  return plan_sums_in_lines(request, "matmul_reduce_scatter/low_latency.hip", lines(request.problem));
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target& target, const Draft& draft) {
  return cost_of_sums_in_lines(problem, target, draft, lines(problem));
}

std::vector<Work> cost_of_producer_consumer(const Problem& problem, const Target& target, const Draft& draft) {
  return cost_of_summed_portions(problem, target, draft,
                                 {.memory_bytes = (problem.world + 1) * slot_bytes(problem), .signals = 1});
}

Draft plan_bulk_synchronous(const Request& request) {
  const Problem& problem = request.problem;
  Composition whole(request);
  whole.add_intermediate("product", problem.result, {{"m"}, {"n"}});
  whole.add(matmul_part(problem, "a", "product", problem.result));
  whole.add({.name = "reduce_scatter",
             .problem = {.pattern = "reduce_scatter",
                         .dtype = problem.result,
                         .accumulate = problem.accumulate,
                         .result = problem.result,
                         .op = Op::sum},
             .extents = {{"m", {"m", 1, problem.world}}, {"n", {"n"}}},
             .buffers = {{"input", "product"}, {"output", "output"}},
             .settings = {{"blocks", "comm_blocks"}}});
  return whole.take();
}

constexpr std::array<std::string_view, 1> specialized = {"matmul_reduce_scatter/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> sequential = {"matmul_reduce_scatter/fused_sequential.hip"};
constexpr std::array<std::string_view, 1> in_lines = {"matmul_reduce_scatter/low_latency.hip"};

constexpr std::array variants = {
    Variant{.name = "workgroup_specialized",
            .summary = "one grid, two roles: some blocks multiply and push tiles, the others sum what has arrived",
            .templates = specialized,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost},
    Variant{.name = "fused_sequential",
            .summary = "blocks multiply and push tiles; who makes a tile of this rank sums what the others made of it",
            .templates = sequential,
            .keys = tile_keys,
            .plan = plan_fused_sequential,
            .cost = cost},
    Variant{.name = "producer_consumer",
            .summary = "rows are multiplied in portions; copy engines carry each to its rank beside the next",
            .templates = summed_portion_templates,
            .keys = summed_portion_keys,
            .plan = plan_summed_portions,
            .cost = cost_of_producer_consumer},
    Variant{.name = "low_latency",
            .summary = "blocks multiply and send rows to their ranks in words that carry their own flags; for few rows",
            .templates = in_lines,
            .keys = tile_keys,
            .plan = plan_low_latency,
            .cost = cost_of_low_latency},
    Variant{.name = "bulk_synchronous",
            .summary = "a matmul, then a reduce_scatter",
            .templates = {},
            .keys = role_keys,
            .plan = plan_bulk_synchronous,
            .cost = cost_of_parts},
};

/// Tolerance: product_error() over k and the ranks, the rounding of each rank's product, which travels in the type of
/// the result, and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t rows = problem.extent("m").value / problem.world;
  const std::int64_t n = problem.extent("n").value;
  const std::int64_t k = problem.extent("k").value;
  std::vector<Expectation> expectations;
  for (std::int64_t rank = 0; rank < problem.world; ++rank) {
    Product product(rows * n);
    for (const auto& of_rank : inputs) {
      multiply_into(product, problem, of_rank[0].data() + rank * rows * k, of_rank, rows, k, n);
    }
    expectations.push_back(expect_sum_of_products(product, problem));
  }
  return expectations;
}

}  // namespace

extern const Pattern matmul_reduce_scatter = {
    .name = "matmul_reduce_scatter",
    .summary = "A(m,k), B(k,n) -> (m/world,n): rank r gets its rows of the ranks' products, summed",
    .variants = variants,
    .rounds_partials = true,
    .arguments = arguments,
    .check = check_rows,
    .reference = reference,
    .product = whole_product,
};

}  // namespace irisgen
