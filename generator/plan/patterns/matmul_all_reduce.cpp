#include "generator/plan/compose.hpp"
#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/portions.hpp"
#include "generator/plan/product_lines.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  return product_arguments(problem, {{"m"}, {"k"}}, {"n"}, {{"m"}, {"n"}});
}

/// What a rank sends to all, and as much, its products, to those who sum them.
double sums_bytes(const Problem& problem) {
  return matrix_bytes(problem, {{"m"}, {"n"}}, problem.result) * (problem.world - 1) / problem.world;
}

Products products(const Problem& problem, bool moves_by_blocks) {
  return {.rows = {"m"},
          .columns = {"n"},
          .a_rows = {"m"},
          .moves_by_blocks = moves_by_blocks,
          .shipped_bytes = problem.is_static() ? 2 * sums_bytes(problem) : 0,
          .sums_bytes = problem.is_static() ? sums_bytes(problem) : 0,
          .completes_tiles = true,
          .sums_tiles = true};
}

/// What both kernels have.
Draft plan_kernel(const Request& request, KernelPlan kernel, const Products& products) {
  const Problem& problem = request.problem;
  choose_pace(request, kernel, products);
  choose_summing(request, kernel, problem.world);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, multiplying_blocks(kernel) * problem.world);
  kernel.workspace = slots_of_divided_tiles(problem, kernel);
  kernel.arguments = place(arguments(problem), 16, {"output"});
  return draft_of(std::move(kernel), InPlace::no);
}

Draft plan_workgroup_specialized(const Request& request) {
  const Products of_kernel = products(request.typical(), true);
  KernelPlan kernel = start_kernel(request, "matmul_all_reduce/workgroup_specialized.hip");
  choose_tiles(request, kernel, of_kernel);
  choose_roles(request, kernel, of_kernel, "sum what has arrived");
  return plan_kernel(request, std::move(kernel), of_kernel);
}

Draft plan_fused_sequential(const Request& request) {
  const Products of_kernel = products(request.typical(), false);
  KernelPlan kernel = start_kernel(request, "matmul_all_reduce/fused_sequential.hip");
  choose_tiles(request, kernel, of_kernel);
  choose_matmul_grid(request, kernel, of_kernel);
  return plan_kernel(request, std::move(kernel), of_kernel);
}

std::vector<Work> cost(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& kernel = draft.kernels[0];
  const double results = matrix_bytes(problem, {{"m"}, {"n"}}, problem.result);
  const double to_peers = sums_bytes(problem);
  return {{.link_bytes = 2 * to_peers,
           .memory_bytes = 3 * results,
           .multiply_us = multiply_us(problem, target, kernel, products(problem, has_roles(kernel))),
           .summing_us = has_roles(kernel) ? summing_us(kernel, results + to_peers) : 0,
           .signals = 2}};
}

SumsInLines lines(const Problem& problem) {
  return {.arguments = arguments(problem), .sent = problem.world - 1.0};
}

Draft plan_low_latency(const Request& request) {
  return plan_sums_in_lines(request, "matmul_all_reduce/low_latency.hip", lines(request.problem));
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target& target, const Draft& draft) {
  return cost_of_sums_in_lines(problem, target, draft, lines(problem));
}

SumsInLines lines_of_two_shot(const Problem& problem) {
  return {.arguments = arguments(problem),
          .sent = 2 * (problem.world - 1.0) / problem.world,
          .ways = 2,
          .ranks = problem.world,
          .of_tiles = true};
}

Draft plan_low_latency_two_shot(const Request& request) {
  return plan_sums_in_lines(request, "matmul_all_reduce/low_latency_two_shot.hip", lines_of_two_shot(request.problem));
}

std::vector<Work> cost_of_low_latency_two_shot(const Problem& problem, const Target& target, const Draft& draft) {
  return cost_of_sums_in_lines(problem, target, draft, lines_of_two_shot(problem));
}

std::string refusal_of_producer_consumer(const Problem& problem, const Target&) {
  if (known_multiple(problem.extent("m")) % problem.world == 0) return "";
  return "sums as many rows on each rank, and m is not known to be a multiple of " + std::to_string(problem.world);
}

std::vector<Work> cost_of_producer_consumer(const Problem& problem, const Target& target, const Draft& draft) {
  const double results = matrix_bytes(problem, {{"m"}, {"n"}}, problem.result);
  return cost_of_summed_portions(problem, target, draft,
                                 {.link_bytes = sums_bytes(problem), .memory_bytes = 2 * results, .signals = 2});
}

Draft plan_bulk_synchronous(const Request& request) {
  const Problem& problem = request.problem;
  Composition whole(request);
  whole.add_intermediate("product", problem.result, {{"m"}, {"n"}});
  whole.add(matmul_part(problem, "a", "product", problem.result));
  whole.add({.name = "all_reduce",
             .problem = {.pattern = "all_reduce",
                         .dtype = problem.result,
                         .accumulate = problem.accumulate,
                         .result = problem.result,
                         .op = Op::sum},
             .extents = {{"m", {"m"}}, {"n", {"n"}}},
             .buffers = {{"input", "product"}, {"output", "output"}},
             .settings = {{"blocks", "comm_blocks"}}});
  return whole.take();
}

constexpr std::array<std::string_view, 1> specialized = {"matmul_all_reduce/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> sequential = {"matmul_all_reduce/fused_sequential.hip"};
constexpr std::array<std::string_view, 1> in_lines = {"matmul_all_reduce/low_latency.hip"};
constexpr std::array<std::string_view, 1> in_two_ways = {"matmul_all_reduce/low_latency_two_shot.hip"};

constexpr std::array variants = {
    Variant{.name = "workgroup_specialized",
            .summary = "one grid, two roles: some blocks multiply and push tiles, the others sum and give to all",
            .templates = specialized,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost},
    Variant{
        .name = "fused_sequential",
        .summary = "blocks multiply and push tiles; who makes a tile of this rank sums what all made of it, for all",
        .templates = sequential,
        .keys = tile_keys,
        .plan = plan_fused_sequential,
        .cost = cost},
    Variant{.name = "producer_consumer",
            .summary = "rows are multiplied in portions; copy engines carry each to who sums it, for all",
            .templates = summed_for_all_templates,
            .keys = summed_portion_keys,
            .refusal = refusal_of_producer_consumer,
            .plan = plan_summed_portions,
            .cost = cost_of_producer_consumer},
    Variant{.name = "low_latency",
            .summary = "blocks multiply and send tiles to all in words that carry their own flags, and sum what comes; "
                       "for few rows",
            .templates = in_lines,
            .keys = tile_keys,
            .plan = plan_low_latency,
            .cost = cost_of_low_latency},
    Variant{.name = "low_latency_two_shot",
            .summary = "the same, but each rank sums a share of every tile and sends it to all: for a few more rows",
            .templates = in_two_ways,
            .keys = tile_keys,
            .plan = plan_low_latency_two_shot,
            .cost = cost_of_low_latency_two_shot},
    Variant{.name = "bulk_synchronous",
            .summary = "a matmul, then an all_reduce",
            .templates = {},
            .keys = role_keys,
            .plan = plan_bulk_synchronous,
            .cost = cost_of_parts},
};

/// Tolerance: product_error() over k and the ranks, the rounding of each rank's product, which travels in the type of
/// the result, and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  Product product(m * n);
  for (const auto& of_rank : inputs) {
    multiply_into(product, problem, of_rank[0].data(), of_rank, m, problem.extent("k").value, n);
  }
  return std::vector<Expectation>(static_cast<std::size_t>(problem.world), expect_sum_of_products(product, problem));
}

}  // namespace

extern const Pattern matmul_all_reduce = {
    .name = "matmul_all_reduce",
    .summary = "A(m,k), B(k,n) -> (m,n): every rank gets the sum of the ranks' products",
    .variants = variants,
    .replicates = true,
    .rounds_partials = true,
    .arguments = arguments,
    .reference = reference,
    .product = whole_product,
};

}  // namespace irisgen
