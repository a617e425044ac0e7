#include <array>

#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"direct", "every rank pushes its input into all outputs", "all_gather/direct.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report);
}

void plan(Plan& plan) {
  const Dtype dtype = plan.kernel.dtype;
  use_variant(plan, variant_of(plan.kernel), "the only one");
  const auto count = static_count(plan.kernel);
  const int vector = choose_vector(plan, dtype, count);
  choose_grid(plan, count, vector);
  choose_unroll(plan, 2);

  const int alignment = static_cast<int>(vector * bytes_of(dtype));
  plan.arguments = {
      {.name = "input",
       .access = Access::read,
       .dtype = dtype,
       .shape = {{'m'}, {'n'}},
       .symmetric = false,
       .alignment = alignment},
      {.name = "output",
       .access = Access::write,
       .dtype = dtype,
       .shape = {{'m', plan.world}, {'n'}},
       .symmetric = true,
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

std::vector<Expectation> reference(const KernelSpec&, int world, const Extents&,
                                   const std::vector<std::vector<Values>>& inputs) {
  Values gathered;
  for (const auto& arguments : inputs) gathered.insert(gathered.end(), arguments[0].begin(), arguments[0].end());
  return std::vector<Expectation>(world, exactly(std::move(gathered)));
}

}  // namespace

extern const Pattern all_gather = {
    .name = "all_gather",
    .summary = "(m,n) -> (world*m,n): every rank gets all inputs, in the order of the ranks",
    .variants = variants,
    .extents = "mn",
    .reduces = false,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
