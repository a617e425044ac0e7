#include <algorithm>
#include <array>

#include "generator/plan/planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

/// Elements that a ring's block passes on at a time: on a GPU 64 KiB of f32 for each signal.
constexpr std::int64_t gpu_chunk = 16384;
constexpr std::int64_t host_chunk = 1024;

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> shape = {{"m"}, {"n"}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = shape},
          {.name = "output", .access = Access::write, .dtype = problem.result, .shape = shape}};
}

int alignment_of(const Problem& problem, int vector) {
  return static_cast<int>(vector * iris::bytes_of(problem.dtype));
}

bool same_types(const Problem& problem) {
  return problem.dtype == problem.result;
}

Draft plan_one_shot(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/one_shot.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, problem.world, "accesses in flight for each rank");
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel);
  kernel.workspace = workspace_of(problem, problem.world, {{"m"}, {"n"}}, problem.dtype, vector);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {});
  return draft_of(std::move(kernel), same_types(problem));
}

std::vector<Work> cost_of_one_shot(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes,
           .memory_bytes = bytes * problem.world,
           .arrived_bytes = bytes * problem.world,
           .signals = 1}};
}

Draft plan_two_shot(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/two_shot.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  auto shard = static_count(problem, {{"m"}, {"n"}});
  if (shard) shard = (*shard + problem.world - 1) / problem.world;
  choose_grid(request, kernel, shard, vector);
  choose_unroll(request, kernel, problem.world, "accesses in flight for each rank");
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {"input", "output"});
  return draft_of(std::move(kernel), same_types(problem));
}

/// Others pull a rank's input but for its own shard, and it pushes its shard to them.
std::vector<Work> cost_of_two_shot(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = 2 * (problem.world - 1) * bytes / problem.world, .memory_bytes = 2 * bytes, .signals = 2}};
}

/// The smallest chunk with which no launch takes more steps than a flag counts (device/signal.hpp).
std::int64_t least_chunk(const Request& request, const KernelPlan& kernel, int vector) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 24;
  constexpr std::int64_t most_elements = std::int64_t{1} << 40;  // that the language allows on all ranks together
  const std::int64_t elements =
      static_count(request.problem, {{"m"}, {"n"}}).value_or(most_elements / request.problem.world);
  const std::int64_t chunk = elements / kernel.number("blocks") / most_steps + 1;
  return (chunk + vector - 1) / vector * vector;
}

void choose_chunk(const Request& request, KernelPlan& kernel, int vector) {
  const std::int64_t least = least_chunk(request, kernel, vector);
  const std::int64_t chunk = decide(
      request, kernel, "chunk", std::max(least, request.on_host() ? host_chunk : gpu_chunk),
      "elements that a block passes on at a time", "long enough to hide a signal, short enough to fill the ring soon");
  if (chunk < vector || chunk % vector != 0) {
    refuse(
        request, "chunk",
        "a chunk of " + std::to_string(chunk) + " elements; write a multiple of the vector, " + std::to_string(vector));
  }
  if (chunk < least) {
    refuse(request, "chunk",
           "a chunk of " + std::to_string(chunk) + " elements may take more than 2^24 steps; write " +
               std::to_string(least) + " or more");
  }
}

Draft plan_ring(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/ring.hip");
  const int vector = choose_vector(request, kernel, problem.accumulate);
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, 2);
  choose_chunk(request, kernel, vector);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, 2 * kernel.number("blocks"));
  kernel.workspace = workspace_of(problem, 1, {{"m"}, {"n"}}, problem.accumulate, vector);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {"output"});
  return draft_of(std::move(kernel), same_types(problem));
}

/// A rank in the middle passes on every partial sum and every result, over one link. Before the first of them reach the
/// last rank, a chunk of every block has passed each of the others.
std::vector<Work> cost_of_ring(const Problem& problem, const Target&, const Draft& draft) {
  const double bytes = bytes_of_elements(problem);
  const double partial_bytes = bytes * static_cast<double>(iris::bytes_of(problem.accumulate)) /
                               static_cast<double>(iris::bytes_of(problem.dtype));
  double sent = problem.world == 1 ? 0 : std::max(partial_bytes, bytes);
  double fill = 0;
  if (problem.world > 2) {
    const KernelPlan& kernel = draft.kernels.front();
    const auto in_flight = static_cast<double>(kernel.number("chunk") * kernel.number("blocks"));
    const double elements = std::max(1.0, bytes / static_cast<double>(iris::bytes_of(problem.dtype)));
    sent = partial_bytes + bytes;
    fill = (problem.world - 2) * sent * std::min(1.0, in_flight / elements);
  }
  return {{.link_bytes = sent,
           .over_one_link = true,
           .fill_bytes = fill,
           .memory_bytes = 2 * bytes + 2 * partial_bytes,
           .signals = 2 * (problem.world - 1)}};
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 4> ring_keys = {"blocks", "threads", "vector", "chunk"};
constexpr std::array<std::string_view, 1> one_shot_templates = {"all_reduce/one_shot.hip"};
constexpr std::array<std::string_view, 1> two_shot_templates = {"all_reduce/two_shot.hip"};
constexpr std::array<std::string_view, 1> ring_templates = {"all_reduce/ring.hip"};

constexpr std::array variants = {
    Variant{.name = "one_shot",
            .summary = "every rank sends all to all and reduces all: one signal, for small sizes",
            .templates = one_shot_templates,
            .keys = keys,
            .plan = plan_one_shot,
            .cost = cost_of_one_shot},
    Variant{.name = "two_shot",
            .summary = "each rank reduces a shard and sends it to all: the fewest bytes",
            .templates = two_shot_templates,
            .keys = keys,
            .plan = plan_two_shot,
            .cost = cost_of_two_shot},
    Variant{.name = "ring",
            .summary = "neighbours only: sums pass from rank to rank in order, then the results",
            .templates = ring_templates,
            .keys = ring_keys,
            .plan = plan_ring,
            .cost = cost_of_ring},
};

constexpr BusConvention bus = {.size_has_world = false,
                               .bus_over_algorithm = [](double world) { return 2 * (world - 1) / world; }};

std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t count = iris::size_of(problem);
  return std::vector<Expectation>(static_cast<std::size_t>(problem.world),
                                  reduce_over_ranks(problem, inputs, 0, count));
}

}  // namespace

extern const Pattern all_reduce = {
    .name = "all_reduce",
    .summary = "(m,n) -> (m,n): every rank gets the reduction of all inputs",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
