#include <array>

#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"direct", "the root pushes its input into all outputs", "broadcast/direct.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report);
}

void plan(Plan& plan) {
  const Dtype dtype = plan.kernel.dtype;
  use_variant(plan, variant_of(plan.kernel), "the only one");
  const int vector = choose_vector(plan, dtype);
  const auto count = static_count(plan.kernel);
  choose_grid(plan, count, vector);
  choose_unroll(plan, 2);
  plan.substitutions["root"] = std::to_string(plan.kernel.root);

  const int alignment = static_cast<int>(vector * bytes_of(dtype));
  const std::vector<Argument::Dimension> shape = {{'m'}, {'n'}};
  plan.arguments = {
      {.name = "input",
       .access = Access::read,
       .dtype = dtype,
       .shape = shape,
       .symmetric = false,
       .alignment = alignment,
       .root_only = true},
      {.name = "output",
       .access = Access::write,
       .dtype = dtype,
       .shape = shape,
       .symmetric = true,
       .alignment = alignment},
  };
  plan.in_place = true;
  plan.flags = std::int64_t{plan.blocks} * plan.world;
  if (!count) {
    plan.prediction = no_prediction();
    return;
  }
  const double bytes = static_cast<double>(*count * bytes_of(dtype));
  plan.prediction =
      predict(*plan.target, {.link_bytes = (plan.world - 1) * bytes, .memory_bytes = 2 * bytes, .signals = 2});
}

std::vector<Expectation> reference(const KernelSpec& kernel, int world, const Extents&,
                                   const std::vector<std::vector<Values>>& inputs) {
  return std::vector<Expectation>(world, exactly(inputs[kernel.root][0]));
}

}  // namespace

extern const Pattern broadcast = {
    .name = "broadcast",
    .summary = "(m,n) -> (m,n): every rank gets the root's input",
    .variants = variants,
    .extents = "mn",
    .reduces = false,
    .rooted = true,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
