#include <array>

#include "generator/plan/patterns/matmul.hpp"
#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"specialised", "one grid, two roles: some blocks push rows of A, the others multiply what has arrived",
            "all_gather_matmul/specialised.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report, {"comm_blocks", "tile_m", "tile_n", "tile_k"});
  check_rows(kernel, report);
}

void plan(Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  use_variant(plan, variant_of(kernel), "the only one");
  plan.substitutions["accumulate"] = to_string(kernel.accumulate);
  const int vector = choose_tiles(plan);
  choose_roles(plan, "push rows to the peers");
  choose_unroll(plan, 2);

  plan.arguments = {
      matrix(plan, "a", Access::read, {.extent = 'm', .divisor = plan.world}, {'k'}),
      matrix(plan, "b", Access::read, {'k'}, {'n'}),
      matrix(plan, "output", Access::write, {'m'}, {'n'}),
  };
  plan.in_place = false;
  plan.flags = std::stoll(plan.substitutions["comm_blocks"]) * plan.world;
  plan.workspace = workspace_of(
      plan, {.parts = plan.world, .extents = "mk", .divisor = plan.world, .dtype = kernel.dtype, .granule = vector});
  if (!is_static(kernel)) {
    plan.prediction = no_prediction();
    return;
  }
  const double rows = static_cast<double>(kernel.m.value) / plan.world;
  const double shard = rows * static_cast<double>(kernel.k.value * bytes_of(kernel.dtype));
  plan.prediction = predict(*plan.target, {.link_bytes = (plan.world - 1) * shard,
                                           .memory_bytes = 2 * plan.world * shard,
                                           .flops = matmul_flops(kernel),
                                           .signals = 1});
}

Expectation product_of(const KernelSpec& kernel, const Extents& extents, const std::vector<std::vector<Values>>& inputs,
                       const Values& b) {
  const auto elements = static_cast<std::size_t>(extents.m * extents.n);
  const std::int64_t rows = extents.m / static_cast<std::int64_t>(inputs.size());
  Expectation expectation;
  for (const auto& arguments : inputs) {
    Product product{Values(elements / inputs.size()), Values(elements / inputs.size())};
    multiply_into(product, kernel.dtype, arguments[0].data(), b, rows, extents.k, extents.n);
    for (std::size_t i = 0; i < product.sums.size(); ++i) {
      expect(expectation, kernel.dtype, product.sums[i], product_error(product, i, kernel.accumulate));
    }
  }
  return expectation;
}

/// Tolerance: product_error() and the last rounding.
std::vector<Expectation> reference(const KernelSpec& kernel, int world, const Extents& extents,
                                   const std::vector<std::vector<Values>>& inputs) {
  std::vector<Expectation> expectations;
  for (int rank = 0; rank < world; ++rank) {
    // Ranks that share one B share the whole result.
    if (rank > 0 && inputs[rank][1] == inputs[0][1]) {
      expectations.push_back(expectations[0]);
    } else {
      expectations.push_back(product_of(kernel, extents, inputs, inputs[rank][1]));
    }
  }
  return expectations;
}

}  // namespace

extern const Pattern all_gather_matmul = {
    .name = "all_gather_matmul",
    .summary = "A(m/world,k), B(k,n) -> (m,n): the rows of A of all ranks, times this rank's B",
    .variants = variants,
    .extents = "mnk",
    .reduces = false,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
