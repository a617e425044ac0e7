#include <algorithm>
#include <array>

#include "generator/plan/copies.hpp"
#include "generator/plan/lines.hpp"
#include "generator/plan/planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> shape = {{"m"}, {"n", problem.world}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = shape},
          {.name = "output", .access = Access::write, .dtype = problem.dtype, .shape = shape}};
}

Draft plan_direct(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_to_all/direct.hip");
  const int vector = choose_vector(request, kernel, problem.dtype, static_length(problem, {"n"}));
  choose_grid_of_pushes(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, problem.world, "accesses in flight for each rank");
  add_types(request, kernel, {});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {"output"});
  return draft_of(std::move(kernel), InPlace::no);
}

std::vector<Work> cost_of_direct(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes, .memory_bytes = 2 * problem.world * bytes, .signals = 2}};
}

/// A thread has sent all its lines before it puts others in their places. In the other variants peers would overwrite
/// what has not been sent yet.
Draft plan_low_latency(const Request& request) {
  return plan_lines(request, start_kernel(request, "all_to_all/low_latency.hip"),
                    {.arguments = arguments(request.problem),
                     .run = static_length(request.problem, {"n"}),
                     .in_place = InPlace::same_buffer});
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target&, const Draft& draft) {
  return work_of_lines(problem, draft, problem.world, 2.0 * problem.world);
}

std::string refuse_copy_engine(const Problem& problem, const Target&) {
  const auto rows = static_length(problem, {"m"});
  return rows && *rows <= 1 ? "" : "copies whole shards, which several rows are not made of; take direct";
}

Draft plan_copy_engine(const Request& request) {
  return plan_copies(request, arguments(request.problem), iris::BlockIndex::peer);
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 1> direct_templates = {"all_to_all/direct.hip"};
constexpr std::array<std::string_view, 1> low_latency_templates = {"all_to_all/low_latency.hip"};
constexpr std::array<std::string_view, 2> copy_engine_templates = {"barrier/same_block.hip", "copies/own_shard.hip"};

constexpr std::array variants = {
    Variant{.name = "direct",
            .summary = "every rank pushes each shard of its rows to the rank it belongs to",
            .templates = direct_templates,
            .keys = keys,
            .plan = plan_direct,
            .cost = cost_of_direct},
    Variant{.name = "low_latency",
            .summary = "the same in words that carry their own flags, without a barrier: for small sizes",
            .templates = low_latency_templates,
            .keys = keys,
            .plan = plan_low_latency,
            .cost = cost_of_low_latency},
    Variant{.name = "copy_engine",
            .summary =
                "the copy engine moves shards of one row, one peer after another, between two barriers: for large "
                "sizes",
            .templates = copy_engine_templates,
            .keys = {},
            .refusal = refuse_copy_engine,
            .plan = plan_copy_engine,
            .cost = cost_of_copies},
};

constexpr BusConvention bus = {.size_has_world = true,
                               .bus_over_algorithm = [](double world) { return (world - 1) / world; }};

std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t world = problem.world;
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  std::vector<Expectation> expectations;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    Values output(static_cast<std::size_t>(m * world * n));
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t source = 0; source < world; ++source) {
        const auto shard = inputs[static_cast<std::size_t>(source)][0].begin() + (row * world + rank) * n;
        std::copy_n(shard, n, output.begin() + (row * world + source) * n);
      }
    }
    expectations.push_back(exactly(std::move(output)));
  }
  return expectations;
}

}  // namespace

extern const Pattern all_to_all = {
    .name = "all_to_all",
    .summary = "(m,world*n) -> (m,world*n): shard p of rank r's rows becomes shard r of rank p's",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
