#include <algorithm>
#include <array>

#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"direct", "every rank pushes each piece of its rows to the rank it belongs to", "all_to_all/direct.hip"},
};

void check(const KernelSpec& kernel, Report& report) {
  check_variant_and_config(kernel, report);
}

void plan(Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  use_variant(plan, variant_of(kernel), "the only one");
  std::optional<std::int64_t> piece;
  if (!kernel.n.dynamic) piece = kernel.n.value;
  const int vector = choose_vector(plan, kernel.dtype, piece);
  const auto count = static_count(kernel);
  choose_grid(plan, count, vector);

  const int alignment = static_cast<int>(vector * bytes_of(kernel.dtype));
  const std::vector<Argument::Dimension> shape = {{'m'}, {'n', plan.world}};
  plan.arguments = {
      {.name = "input",
       .access = Access::read,
       .dtype = kernel.dtype,
       .shape = shape,
       .symmetric = false,
       .alignment = alignment},
      {.name = "output",
       .access = Access::write,
       .dtype = kernel.dtype,
       .shape = shape,
       .symmetric = true,
       .alignment = alignment},
  };
  plan.in_place = false;
  plan.flags = std::int64_t{plan.blocks} * plan.world;
  if (!count) {
    plan.prediction = no_prediction();
    return;
  }
  const double bytes = static_cast<double>(*count * bytes_of(kernel.dtype));
  plan.prediction = predict(
      *plan.target, {.link_bytes = (plan.world - 1) * bytes, .memory_bytes = 2 * plan.world * bytes, .signals = 2});
}

std::vector<Expectation> reference(const KernelSpec&, int world, const Extents& extents,
                                   const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t row_length = world * extents.n;
  std::vector<Expectation> expectations;
  for (int rank = 0; rank < world; ++rank) {
    Values output(extents.m * row_length);
    for (std::int64_t row = 0; row < extents.m; ++row) {
      for (int source = 0; source < world; ++source) {
        const auto piece = inputs[source][0].begin() + row * row_length + rank * extents.n;
        std::copy_n(piece, extents.n, output.begin() + row * row_length + source * extents.n);
      }
    }
    expectations.push_back(exactly(std::move(output)));
  }
  return expectations;
}

}  // namespace

extern const Pattern all_to_all = {
    .name = "all_to_all",
    .summary = "(m,world*n) -> (m,world*n): piece p of rank r's rows becomes piece r of rank p's",
    .variants = variants,
    .extents = "mn",
    .reduces = false,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
