#include <array>

#include "generator/plan/lines.hpp"
#include "generator/plan/pipeline.hpp"
#include "generator/plan/planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  const std::int64_t world = problem.world;
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = {{"m", world}, {"n"}}},
          {.name = "output", .access = Access::write, .dtype = problem.result, .shape = {{"m"}, {"n"}}}};
}

/// Nobody reads a rank's own block of its input but itself, before it writes there.
constexpr InPlace in_place = InPlace::own_block;

Draft plan_direct(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "reduce_scatter/direct.hip");
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const int vector = choose_vector(request, kernel, problem.dtype, count);
  choose_grid(request, kernel, count, vector);
  choose_unroll(request, kernel, problem.world, "accesses in flight for each rank");
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {"input"});
  return draft_of(std::move(kernel), in_place);
}

std::vector<Work> cost_of_direct(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes, .memory_bytes = (problem.world + 1) * bytes, .signals = 2}};
}

Draft plan_workgroup_specialized(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "reduce_scatter/workgroup_specialized.hip");
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const int vector = choose_vector(request, kernel, problem.dtype, count);
  choose_push_and_reduce(request, kernel, count, vector);
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {});
  return draft_of(std::move(kernel), in_place);
}

/// One signal says that all have come; to reduce the last chunk then takes as long as two more.
std::vector<Work> cost_of_workgroup_specialized(const Problem& problem, const Target& target, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes,
           .of_links = links_of_pushes(target),
           .memory_bytes = (3 * problem.world - 1) * bytes,
           .signals = 3}};
}

Draft plan_low_latency(const Request& request) {
  return plan_lines(request, start_kernel(request, "reduce_scatter/low_latency.hip"),
                    {.arguments = arguments(request.problem),
                     .run = static_count(request.problem, {{"m"}, {"n"}}),
                     .types = {.result = true, .accumulate = true},
                     .in_place = in_place});
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target&, const Draft& draft) {
  return work_of_lines(problem, draft, problem.world, problem.world);
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 5> role_keys = {"blocks", "comm_blocks", "threads", "vector", "chunk"};
constexpr std::array<std::string_view, 1> workgroup_specialized_templates = {
    "reduce_scatter/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> direct_templates = {"reduce_scatter/direct.hip"};
constexpr std::array<std::string_view, 1> low_latency_templates = {"reduce_scatter/low_latency.hip"};

constexpr std::array variants = {
    Variant{.name = "direct",
            .summary = "every rank pulls its shard of all inputs and reduces it",
            .templates = direct_templates,
            .keys = keys,
            .plan = plan_direct,
            .cost = cost_of_direct},
    Variant{.name = "workgroup_specialized",
            .summary = "some blocks push chunks of shards, the others reduce those that come: for large sizes",
            .templates = workgroup_specialized_templates,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost_of_workgroup_specialized},
    Variant{.name = "low_latency",
            .summary = "the same in words that carry their own flags, without a barrier: for small sizes",
            .templates = low_latency_templates,
            .keys = keys,
            .plan = plan_low_latency,
            .cost = cost_of_low_latency},
};

constexpr BusConvention bus = {.size_has_world = true,
                               .bus_over_algorithm = [](double world) { return (world - 1) / world; }};

std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t count = iris::size_of(problem);
  std::vector<Expectation> expectations;
  expectations.reserve(static_cast<std::size_t>(problem.world));
  for (int rank = 0; rank < problem.world; ++rank) {
    expectations.push_back(reduce_over_ranks(problem, inputs, rank * count, count));
  }
  return expectations;
}

}  // namespace

extern const Pattern reduce_scatter = {
    .name = "reduce_scatter",
    .summary = "(world*m,n) -> (m,n): rank r gets shard r of the reduction of all inputs",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
