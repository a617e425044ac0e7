#include <array>

#include "generator/plan/patterns/matmul.hpp"
#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"specialised", "one grid, two roles: some blocks multiply and push tiles, the others sum what has arrived",
            "matmul_reduce_scatter/specialised.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report, {"comm_blocks", "tile_m", "tile_n", "tile_k"});
  check_rows(kernel, report);
  if (kernel.op != Op::sum) {
    report.error(kernel.where, "matmul_reduce_scatter cannot reduce with '" + std::string(to_string(kernel.op)) +
                                   "'; products are summed over the ranks, remove 'op'");
  }
}

void plan(Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  use_variant(plan, variant_of(kernel), "the only one");
  plan.substitutions["accumulate"] = to_string(kernel.accumulate);
  choose_tiles(plan);
  choose_roles(plan, "sum what has arrived");

  plan.arguments = {
      matrix(plan, "a", Access::read, {'m'}, {'k'}),
      matrix(plan, "b", Access::read, {'k'}, {'n'}),
      matrix(plan, "output", Access::write, {.extent = 'm', .divisor = plan.world}, {'n'}),
  };
  plan.in_place = false;
  plan.flags = (plan.blocks - std::stoll(plan.substitutions["comm_blocks"])) * plan.world;
  plan.workspace = workspace_of(plan, {.parts = plan.world,
                                       .extents = "mn",
                                       .divisor = plan.world,
                                       .dtype = kernel.accumulate,
                                       .granule = static_cast<int>(16 / bytes_of(kernel.accumulate))});
  if (!is_static(kernel)) {
    plan.prediction = no_prediction();
    return;
  }
  const double rows = static_cast<double>(kernel.m.value) / plan.world;
  const double slot = rows * static_cast<double>(kernel.n.value * bytes_of(kernel.accumulate));
  plan.prediction = predict(*plan.target, {.link_bytes = (plan.world - 1) * slot,
                                           .memory_bytes = 2 * plan.world * slot,
                                           .flops = matmul_flops(kernel),
                                           .signals = 2});
}

/// Tolerance: product_error() over k and the ranks, and the last rounding.
std::vector<Expectation> reference(const KernelSpec& kernel, int world, const Extents& extents,
                                   const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t rows = extents.m / world;
  const auto elements = static_cast<std::size_t>(rows * extents.n);
  std::vector<Expectation> expectations;
  for (int rank = 0; rank < world; ++rank) {
    Product product{Values(elements), Values(elements)};
    for (const auto& arguments : inputs) {
      const double* const a = arguments[0].data() + rank * rows * extents.k;
      multiply_into(product, kernel.dtype, a, arguments[1], rows, extents.k, extents.n);
    }
    Expectation expectation;
    for (std::size_t i = 0; i < elements; ++i) {
      expect(expectation, kernel.dtype, product.sums[i], product_error(product, i, kernel.accumulate));
    }
    expectations.push_back(std::move(expectation));
  }
  return expectations;
}

}  // namespace

extern const Pattern matmul_reduce_scatter = {
    .name = "matmul_reduce_scatter",
    .summary = "A(m,k), B(k,n) -> (m/world,n): rank r gets its rows of the ranks' products, summed",
    .variants = variants,
    .extents = "mnk",
    .reduces = true,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
