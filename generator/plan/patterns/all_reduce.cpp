#include <algorithm>
#include <array>
#include <limits>

#include "generator/plan/patterns/patterns.hpp"
#include "generator/plan/patterns/reference.hpp"
#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::array variants = {
    Variant{"one_shot", "every rank sends all to all and reduces all: one signal, for small sizes",
            "all_reduce/one_shot.hip"},
    Variant{"two_shot", "each rank reduces a shard and sends it to all: the fewest bytes", "all_reduce/two_shot.hip"},
    Variant{"ring", "neighbours only: sums pass from rank to rank in order, then the results", "all_reduce/ring.hip"},
};
constexpr const Variant& one_shot = variants[0];
constexpr const Variant& two_shot = variants[1];
constexpr const Variant& ring = variants[2];

/// Elements that a ring's block passes on at a time, on a GPU: 64 KiB of f32 for each signal.
constexpr int gpu_chunk = 16384;
constexpr int host_chunk = 1024;

void check(const KernelSpec& kernel, Report& report) {
  if (kernel.variant == ring.name) {
    check_variant_and_config(kernel, report, {"chunk"});
  } else {
    check_variant_and_config(kernel, report);
  }
}

Work work_of(const Plan& plan, const Variant& variant, double count) {
  const double bytes = count * static_cast<double>(bytes_of(plan.kernel.dtype));
  const double partial_bytes = count * static_cast<double>(bytes_of(plan.kernel.accumulate));
  const double peers = plan.world - 1;
  if (variant.name == one_shot.name) {
    return {.link_bytes = peers * bytes, .memory_bytes = 2 * bytes * plan.world, .signals = 1};
  }
  if (variant.name == two_shot.name) {
    // Others pull this rank's input but for its own shard, and it pushes its shard to them.
    return {.link_bytes = 2 * peers * bytes / plan.world, .memory_bytes = 2 * bytes, .signals = 2};
  }
  // A rank in the middle passes on every partial sum and every result, over one link.
  double sent = plan.world == 1 ? 0 : std::max(partial_bytes, bytes);
  if (plan.world > 2) sent = partial_bytes + bytes;
  return {.link_bytes = sent,
          .link_gbs = neighbour_gbs(*plan.target),
          .memory_bytes = 2 * bytes + 2 * partial_bytes,
          .signals = 2 * (plan.world - 1)};
}

/// The variant of the least predicted time; where nothing can be predicted, by size alone.
void choose_variant(Plan& plan) {
  if (plan.kernel.variant != "auto") return use_variant(plan, variant_of(plan.kernel), "set in the description");
  const auto count = static_count(plan.kernel);
  if (!count) return use_variant(plan, two_shot, "size known only at launch: the fewest bytes over the links");
  if (plan.target->link_gbs == 0) {
    constexpr std::int64_t small_bytes = 64 << 10;
    const bool small = *count * bytes_of(plan.kernel.dtype) <= small_bytes;
    return use_variant(plan, small ? one_shot : two_shot, small ? "64 KiB or less" : "more than 64 KiB");
  }
  const Variant* best = &one_shot;
  double best_us = std::numeric_limits<double>::infinity();
  std::string reason;
  for (const Variant& variant : variants) {
    const double us = predict(*plan.target, work_of(plan, variant, static_cast<double>(*count))).time_us;
    reason += (reason.empty() ? "predicted: " : ", ") + std::string(variant.name) + " " + microseconds(us);
    if (us >= best_us) continue;
    best = &variant;
    best_us = us;
  }
  use_variant(plan, *best, reason);
}

void choose_chunk(Plan& plan, int vector) {
  const auto& wanted = plan.kernel.config.chunk;
  const int chunk = wanted.value_or(plan.target->platform == Platform::host ? host_chunk : gpu_chunk);
  if (chunk < vector || chunk % vector != 0) {
    refuse(plan, "a chunk of " + std::to_string(chunk) + " elements; write a multiple of the vector, " +
                     std::to_string(vector));
  }
  decide(plan, "chunk", chunk, reason_for(wanted, "long enough to hide a signal, short enough to fill the ring soon"));
}

void plan_arguments(Plan& plan, int alignment) {
  const bool reads_peers = plan.variant == two_shot.name;
  const bool writes_peers = plan.variant != one_shot.name;
  const std::vector<Argument::Dimension> shape = {{'m'}, {'n'}};
  plan.arguments = {
      {.name = "input",
       .access = Access::read,
       .dtype = plan.kernel.dtype,
       .shape = shape,
       .symmetric = reads_peers,
       .alignment = alignment},
      {.name = "output",
       .access = Access::write,
       .dtype = plan.kernel.dtype,
       .shape = shape,
       .symmetric = writes_peers,
       .alignment = alignment},
  };
}

void plan(Plan& plan) {
  choose_variant(plan);
  choose_reduction(plan);
  const bool is_ring = plan.variant == ring.name;
  const KernelSpec& kernel = plan.kernel;
  const int vector = choose_vector(plan, is_ring ? kernel.accumulate : kernel.dtype);
  const auto count = static_count(kernel);
  auto share = count;
  if (count && plan.variant == two_shot.name) share = (*count + plan.world - 1) / plan.world;
  choose_grid(plan, share, vector);
  choose_unroll(plan, is_ring ? 2 : plan.world);
  if (is_ring) choose_chunk(plan, vector);

  plan_arguments(plan, static_cast<int>(vector * bytes_of(kernel.dtype)));
  plan.in_place = true;
  plan.flags = std::int64_t{plan.blocks} * (is_ring ? 2 : plan.world);
  if (plan.variant == one_shot.name) {
    plan.workspace = workspace_of(plan, {.parts = plan.world, .dtype = kernel.dtype, .granule = vector});
  } else if (is_ring) {
    plan.workspace = workspace_of(plan, {.dtype = kernel.accumulate, .granule = vector});
  }
  const Variant& chosen = *std::ranges::find(variants, std::string_view(plan.variant), &Variant::name);
  plan.prediction = count ? predict(*plan.target, work_of(plan, chosen, static_cast<double>(*count))) : no_prediction();
}

std::vector<Expectation> reference(const KernelSpec& kernel, int world, const Extents& extents,
                                   const std::vector<std::vector<Values>>& inputs) {
  return std::vector<Expectation>(world, reduce_over_ranks(kernel, inputs, 0, extents.m * extents.n));
}

}  // namespace

extern const Pattern all_reduce = {
    .name = "all_reduce",
    .summary = "(m,n) -> (m,n): every rank gets the reduction of all inputs",
    .variants = variants,
    .extents = "mn",
    .reduces = true,
    .rooted = false,
    .check = check,
    .plan = plan,
    .reference = reference,
};

}  // namespace irisgen
