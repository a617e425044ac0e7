#include <algorithm>
#include <array>

#include "generator/plan/compose.hpp"
#include "generator/plan/lines.hpp"
#include "generator/plan/pipeline.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> shape = {{"m"}, {"n"}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = shape},
          {.name = "output", .access = Access::write, .dtype = problem.result, .shape = shape}};
}

int alignment_of(const Problem& problem, int vector) {
  return static_cast<int>(vector * iris::bytes_of(problem.dtype));
}

InPlace in_place(const Problem& problem) {
  return problem.dtype == problem.result ? InPlace::same_buffer : InPlace::no;
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
  return draft_of(std::move(kernel), in_place(problem));
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
  return draft_of(std::move(kernel), in_place(problem));
}

/// Others pull a rank's input but for its own shard, and it pushes its shard to them. Threads that do both in turn
/// filled 0.955 of an H200's links.
std::vector<Work> cost_of_two_shot(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = 2 * (problem.world - 1) * bytes / problem.world,
           .of_links = 0.955,
           .memory_bytes = 2 * bytes,
           .signals = 2}};
}

Draft plan_workgroup_specialized(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/workgroup_specialized.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  auto shard = static_count(problem, {{"m"}, {"n"}});
  if (shard) shard = divide_up(*shard, problem.world);
  choose_push_and_reduce(request, kernel, shard, vector);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {"output"});
  return draft_of(std::move(kernel), in_place(problem));
}

/// Pushes in both roles, and nobody loads from others. A signal says that all have come, and to reduce the last chunk
/// takes as long as another one; the third says that all results have.
std::vector<Work> cost_of_workgroup_specialized(const Problem& problem, const Target& target, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = 2 * (problem.world - 1) * bytes / problem.world,
           .of_links = links_of_pushes(target),
           .memory_bytes = 4 * bytes,
           .signals = 3}};
}

Draft plan_low_latency(const Request& request) {
  return plan_lines(request, start_kernel(request, "all_reduce/low_latency.hip"),
                    {.arguments = arguments(request.problem),
                     .types = {.result = true, .accumulate = true},
                     .in_place = in_place(request.problem)});
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target&, const Draft& draft) {
  return work_of_lines(problem, draft, problem.world, 1);
}

std::string refuse_low_latency_two_shot(const Problem& problem, const Target&) {
  if (iris::bytes_of(problem.result) == iris::bytes_of(problem.dtype)) return "";
  return "passes on results in lines of as many elements as the input's, but " +
         std::string(to_string(problem.result)) + " is not as long as " + std::string(to_string(problem.dtype)) +
         "; take two_shot";
}

Draft plan_low_latency_two_shot(const Request& request) {
  return plan_lines(request, start_kernel(request, "all_reduce/low_latency_two_shot.hip"),
                    {.arguments = arguments(request.problem),
                     .types = {.result = true, .accumulate = true},
                     .in_place = in_place(request.problem),
                     .parts = request.problem.world,
                     .mailboxes = 2});
}

/// A rank sends the others their parts, and each of them its own.
std::vector<Work> cost_of_low_latency_two_shot(const Problem& problem, const Target&, const Draft& draft) {
  const double bytes = bytes_of_elements(problem);
  const double factor = line_factor(problem, draft);
  return {{.link_bytes = 2 * factor * (problem.world - 1) * bytes / problem.world,
           .memory_bytes = (2 * factor + 2) * bytes,
           .lines = 2}};
}

Draft plan_ring(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/ring.hip");
  const int vector = choose_vector(request, kernel, problem.accumulate);
  choose_pipeline(request, kernel, static_count(problem, {{"m"}, {"n"}}), iris::bytes_of(problem.accumulate), vector,
                  {.least = 16384, .most = 32768, .of_dynamic = 32768, .per_share = 128});
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, 2 * kernel.number("blocks"));
  kernel.workspace = workspace_of(problem, 1, {{"m"}, {"n"}}, problem.accumulate, vector);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {"output"});
  return draft_of(std::move(kernel), in_place(problem));
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

std::string refuse_atomic(const Problem& problem, const Target&) {
  if (problem.op != Op::sum) return "only sums; take spinlock";
  if (problem.result == problem.accumulate) return "";
  return "adds in the output, which is " + std::string(to_string(problem.result)) + " where sums are " +
         std::string(to_string(problem.accumulate)) + "; take spinlock";
}

Draft plan_atomic(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/atomic.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, 1);
  add_types(request, kernel, {.result = true, .operation = false});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {"output"});
  return draft_of(std::move(kernel), InPlace::no);  // an input is read after others have added to the output
}

/// A lower bound, as if atomics crossed the links like stores: how many they carry is not measured, and on gfx90a an
/// addition of floats is a loop.
std::vector<Work> cost_of_atomic(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  const double others = problem.world - 1;
  return {{.link_bytes = others * bytes, .memory_bytes = (3 + 2 * others) * bytes, .signals = 2}};
}

Draft plan_spinlock(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_reduce/spinlock.hip");
  const int vector = choose_vector(request, kernel, problem.accumulate);
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, 2);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, 2 * kernel.number("blocks"));  // a lock for each tile
  kernel.workspace = workspace_of(problem, 1, {{"m"}, {"n"}}, problem.accumulate, vector);
  kernel.arguments = place(arguments(problem), alignment_of(problem, vector), {});
  return draft_of(std::move(kernel), in_place(problem));
}

/// Others read a rank's sums and it writes theirs; for each of them it draws a ticket and hears that it is called. As
/// if nobody had to wait for a lock.
std::vector<Work> cost_of_spinlock(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  const double sum_bytes = bytes * static_cast<double>(iris::bytes_of(problem.accumulate)) /
                           static_cast<double>(iris::bytes_of(problem.dtype));
  const int others = problem.world - 1;
  return {{.link_bytes = 2 * others * sum_bytes,
           .memory_bytes = problem.world * bytes + (1 + 2 * others) * sum_bytes,
           .arrived_bytes = sum_bytes + bytes,
           .signals = 2 + 2 * others}};
}

std::string refuse_reduce_scatter_all_gather(const Problem& problem, const Target&) {
  const auto columns = static_length(problem, {"n"});
  return columns && *columns % problem.world == 0 ? ""
                                                  : "cuts n, known and a multiple of world, into shards; take two_shot";
}

/// The same bytes as two_shot's, but what is gathered may be moved by copy engines, which are faster than blocks.
Draft plan_reduce_scatter_all_gather(const Request& request) {
  const Problem& problem = request.problem;
  const Dimension shard = {"n", 1, problem.world};
  Composition whole(request);
  whole.add_intermediate("shard", problem.result, {{"m"}, shard});
  const SettingNames grid = {{"blocks", "blocks"}, {"threads", "threads"}};
  whole.add({.name = "reduce_scatter",
             .problem = {.pattern = "reduce_scatter",
                         .dtype = problem.dtype,
                         .accumulate = problem.accumulate,
                         .result = problem.result,
                         .op = problem.op},
             .extents = {{"m", {"m"}}, {"n", shard}},
             .buffers = {{"input", "input"}, {"output", "shard"}},
             .settings = grid});
  whole.add({.name = "all_gather",
             .problem = {.pattern = "all_gather", .dtype = problem.result, .result = problem.result, .shard = "m"},
             .extents = {{"m", {"m"}}, {"n", shard}},
             .buffers = {{"input", "shard"}, {"output", "output"}},
             .settings = grid});
  Draft draft = whole.take();
  draft.in_place = in_place(problem);
  return draft;
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 2> grid_keys = {"blocks", "threads"};
constexpr std::array<std::string_view, 5> role_keys = {"blocks", "comm_blocks", "threads", "vector", "chunk"};
constexpr std::array<std::string_view, 4> ring_keys = {"blocks", "threads", "vector", "chunk"};
constexpr std::array<std::string_view, 1> one_shot_templates = {"all_reduce/one_shot.hip"};
constexpr std::array<std::string_view, 1> low_latency_templates = {"all_reduce/low_latency.hip"};
constexpr std::array<std::string_view, 1> low_latency_two_shot_templates = {"all_reduce/low_latency_two_shot.hip"};
constexpr std::array<std::string_view, 1> two_shot_templates = {"all_reduce/two_shot.hip"};
constexpr std::array<std::string_view, 1> workgroup_specialized_templates = {"all_reduce/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> ring_templates = {"all_reduce/ring.hip"};
constexpr std::array<std::string_view, 1> atomic_templates = {"all_reduce/atomic.hip"};
constexpr std::array<std::string_view, 1> spinlock_templates = {"all_reduce/spinlock.hip"};

constexpr std::array variants = {
    Variant{.name = "one_shot",
            .summary = "every rank sends all to all and reduces all: one signal, for small sizes",
            .templates = one_shot_templates,
            .keys = keys,
            .plan = plan_one_shot,
            .cost = cost_of_one_shot},
    Variant{.name = "low_latency",
            .summary = "one_shot in words that carry their own flags, without a signal: for the smallest sizes",
            .templates = low_latency_templates,
            .keys = keys,
            .plan = plan_low_latency,
            .cost = cost_of_low_latency},
    Variant{.name = "low_latency_two_shot",
            .summary = "two_shot in such words, without a barrier: for sizes in between",
            .templates = low_latency_two_shot_templates,
            .keys = keys,
            .refusal = refuse_low_latency_two_shot,
            .plan = plan_low_latency_two_shot,
            .cost = cost_of_low_latency_two_shot},
    Variant{.name = "two_shot",
            .summary = "each rank reduces a shard and sends it to all: the fewest bytes",
            .templates = two_shot_templates,
            .keys = keys,
            .plan = plan_two_shot,
            .cost = cost_of_two_shot},
    Variant{.name = "workgroup_specialized",
            .summary = "some blocks push chunks of shards, the others reduce those that come and send them to all",
            .templates = workgroup_specialized_templates,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost_of_workgroup_specialized},
    Variant{.name = "reduce_scatter_all_gather",
            .summary = "the one, then the other, each by the variant that suits it: for large sizes",
            .templates = {},
            .keys = grid_keys,
            .refusal = refuse_reduce_scatter_all_gather,
            .plan = plan_reduce_scatter_all_gather,
            .cost = cost_of_parts},
    Variant{.name = "ring",
            .summary = "neighbours only: sums pass from rank to rank in order, then the results",
            .templates = ring_templates,
            .keys = ring_keys,
            .plan = plan_ring,
            .cost = cost_of_ring},
    Variant{.name = "atomic",
            .summary = "every rank adds to all outputs by atomics, as they come: not always the same bits",
            .templates = atomic_templates,
            .keys = grid_keys,
            .deterministic = false,
            .refusal = refuse_atomic,
            .plan = plan_atomic,
            .cost = cost_of_atomic},
    Variant{.name = "spinlock",
            .summary = "every rank adds to all sums, whoever has a tile's lock: not always the same bits",
            .templates = spinlock_templates,
            .keys = keys,
            .deterministic = false,
            .plan = plan_spinlock,
            .cost = cost_of_spinlock},
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
    .replicates = true,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
