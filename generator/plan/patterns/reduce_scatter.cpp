#include <array>

#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"direct", "every rank pulls its segment of all inputs and reduces it", "reduce_scatter/direct.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report);
}

void plan(Plan& plan) {
  const Dtype dtype = plan.kernel.dtype;
  use_variant(plan, variant_of(plan.kernel), "the only one");
  choose_reduction(plan);
  const auto count = static_count(plan.kernel);
  const int vector = choose_vector(plan, dtype, count);
  choose_grid(plan, count, vector);
  choose_unroll(plan, plan.world);

  const int alignment = static_cast<int>(vector * bytes_of(dtype));
  plan.arguments = {
      {.name = "input",
       .access = Access::read,
       .dtype = dtype,
       .shape = {{'m', plan.world}, {'n'}},
       .symmetric = true,
       .alignment = alignment},
      {.name = "output",
       .access = Access::write,
       .dtype = dtype,
       .shape = {{'m'}, {'n'}},
       .symmetric = false,
       .alignment = alignment},
  };
  plan.in_place = false;
  plan.flags = std::int64_t{plan.blocks} * plan.world;
  if (!count) {
    plan.prediction = no_prediction();
    return;
  }
  const double bytes = static_cast<double>(*count * bytes_of(dtype));
  plan.prediction = predict(
      *plan.target, {.link_bytes = (plan.world - 1) * bytes, .memory_bytes = (plan.world + 1) * bytes, .signals = 2});
}

std::vector<Expectation> reference(const KernelSpec& kernel, int world, const Extents& extents,
                                   const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t count = extents.m * extents.n;
  std::vector<Expectation> expectations;
  expectations.reserve(world);
  for (int rank = 0; rank < world; ++rank) {
    expectations.push_back(reduce_over_ranks(kernel, inputs, rank * count, count));
  }
  return expectations;
}

}  // namespace

extern const Pattern reduce_scatter = {
    .name = "reduce_scatter",
    .summary = "(world*m,n) -> (m,n): rank r gets segment r of the reduction of all inputs",
    .variants = variants,
    .extents = "mn",
    .reduces = true,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
