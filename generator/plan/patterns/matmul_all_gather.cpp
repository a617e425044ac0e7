#include "generator/plan/compose.hpp"
#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/portions.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

bool by_columns(const Problem& problem) {
  return problem.shard == "n";
}

/// Rows and columns of the part of the output that one rank multiplies.
std::vector<Dimension> part_of_rank(const Problem& problem) {
  const std::int64_t world = problem.world;
  if (by_columns(problem)) return {{"m"}, {"n", 1, world}};
  return {{"m", 1, world}, {"n"}};
}

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> part = part_of_rank(problem);
  return product_arguments(problem, {part[0], {"k"}}, part[1], {{"m"}, {"n"}});
}

void check(const KernelSpec& spec, const Problem& problem, Report& report) {
  check_divides(spec, problem, by_columns(problem) ? "n" : "m", report);
}

double sent_bytes(const Problem& problem) {
  return (problem.world - 1) * matrix_bytes(problem, part_of_rank(problem), problem.result);
}

Products products(const Problem& problem, bool moves_by_blocks) {
  const std::vector<Dimension> part = part_of_rank(problem);
  return {.rows = part[0],
          .columns = part[1],
          .a_rows = part[0],
          .moves_by_blocks = moves_by_blocks,
          .shipped_bytes = problem.is_static() ? sent_bytes(problem) : 0,
          .completes_tiles = !moves_by_blocks};
}

KernelPlan start(const Request& request, std::string_view template_path) {
  const std::vector<Dimension> part = part_of_rank(request.problem);
  KernelPlan kernel = start_kernel(request, template_path);
  const std::string reason =
      by_columns(request.problem) ? "each rank multiplies whole columns" : "each rank multiplies whole rows";
  add_number(kernel, "row_shards", part[0].divisor, "", reason);
  add_number(kernel, "column_shards", part[1].divisor, "", reason);
  return kernel;
}

Draft finish(const Request& request, KernelPlan kernel, std::int64_t flags) {
  choose_unroll(request, kernel, 2);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, flags);
  kernel.arguments = place(arguments(request.problem), 16, {"output"});
  return draft_of(std::move(kernel), InPlace::no);
}

Draft plan_workgroup_specialized(const Request& request) {
  KernelPlan kernel = start(request, "matmul_all_gather/workgroup_specialized.hip");
  choose_tiles(request, kernel, products(request.typical(), true));
  choose_roles(request, kernel, products(request.typical(), true), "push tiles to the peers");
  const std::int64_t compute_blocks = multiplying_blocks(kernel);
  return finish(request, std::move(kernel), compute_blocks);
}

Draft plan_fused_sequential(const Request& request) {
  KernelPlan kernel = start(request, "matmul_all_gather/fused_sequential.hip");
  choose_tiles(request, kernel, products(request.typical(), false));
  choose_matmul_grid(request, kernel, products(request.typical(), false));
  const std::int64_t blocks = kernel.number("blocks");
  return finish(request, std::move(kernel), blocks * request.problem.world);
}

std::vector<Work> cost(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& kernel = draft.kernels[0];
  const double part = matrix_bytes(problem, part_of_rank(problem), problem.result);
  return {{.link_bytes = sent_bytes(problem),
           .memory_bytes = (problem.world + 1) * part,
           .multiply_us = multiply_us(problem, target, kernel, products(problem, has_roles(kernel))),
           .signals = 2}};
}

std::string refusal_of_columns(const Problem& problem, const Target&) {
  return by_columns(problem) ? "copies whole rows, and with shard: n each rank makes columns" : "";
}

Draft plan_bulk_synchronous(const Request& request) {
  const Problem& problem = request.problem;
  const std::vector<Dimension> part = part_of_rank(problem);
  Composition whole(request);
  whole.add_intermediate("part", problem.result, part);
  PartRequest product = matmul_part(problem, "a", "part", problem.result);
  product.extents = {{"m", part[0]}, {"n", part[1]}, {"k", {"k"}}};
  whole.add(product);
  whole.add({.name = "all_gather",
             .problem = {.pattern = "all_gather", .dtype = problem.result, .shard = problem.shard},
             .extents = {{"m", part[0]}, {"n", part[1]}},
             .buffers = {{"input", "part"}, {"output", "output"}},
             .settings = {{"blocks", "comm_blocks"}}});
  return whole.take();
}

constexpr std::array<std::string_view, 1> specialized = {"matmul_all_gather/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> sequential = {"matmul_all_gather/fused_sequential.hip"};

constexpr std::array variants = {
    Variant{.name = "workgroup_specialized",
            .summary = "one grid, two roles: some blocks multiply, the others push finished tiles to the peers",
            .templates = specialized,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost},
    Variant{.name = "fused_sequential",
            .summary = "blocks multiply; who has made a tile pushes it to the peers",
            .templates = sequential,
            .keys = tile_keys,
            .plan = plan_fused_sequential,
            .cost = cost},
    Variant{.name = "producer_consumer",
            .summary = "rows are multiplied in portions; copy engines carry each to the peers beside the next",
            .templates = portion_templates,
            .keys = portion_keys,
            .refusal = refusal_of_columns,
            .plan = plan_portions_for_all,
            .cost = cost_of_portions_for_all},
    Variant{.name = "bulk_synchronous",
            .summary = "a matmul, then an all_gather of its result",
            .templates = {},
            .keys = role_keys,
            .plan = plan_bulk_synchronous,
            .cost = cost_of_parts},
};

Problem product(const Problem& problem) {
  const std::vector<Dimension> part = part_of_rank(problem);
  return product_of(problem, part[0], part[1]);
}

/// Tolerance: product_error() and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  const std::int64_t rows = by_columns(problem) ? m : m / problem.world;
  const std::int64_t columns = by_columns(problem) ? n / problem.world : n;
  Product whole(m * n);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    Product part(rows * columns);
    multiply_into(part, problem, inputs[rank][0].data(), inputs[rank], rows, problem.extent("k").value, columns);
    const auto offset = static_cast<std::int64_t>(rank) * (by_columns(problem) ? columns : rows * n);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(part.sums.begin() + row * columns, columns, whole.sums.begin() + offset + row * n);
      std::copy_n(part.partials.begin() + row * columns, columns, whole.partials.begin() + offset + row * n);
      std::copy_n(part.terms.begin() + row * columns, columns, whole.terms.begin() + offset + row * n);
    }
  }
  return std::vector<Expectation>(static_cast<std::size_t>(problem.world), expect_product(whole, problem));
}

}  // namespace

extern const Pattern matmul_all_gather = {
    .name = "matmul_all_gather",
    .summary = "A(m/world,k), B(k,n), or with shard: n A(m,k), B(k,n/world) -> (m,n): every rank gets all products",
    .variants = variants,
    .replicates = true,
    .arguments = arguments,
    .check = check,
    .reference = reference,
    .product = product,
};

}  // namespace irisgen
