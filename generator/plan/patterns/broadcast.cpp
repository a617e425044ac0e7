#include <algorithm>
#include <array>

#include "generator/plan/lines.hpp"
#include "generator/plan/pipeline.hpp"
#include "generator/plan/planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> shape = {{"m"}, {"n"}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = shape, .root_only = true},
          {.name = "output", .access = Access::write, .dtype = problem.dtype, .shape = shape}};
}

Draft plan_direct(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "broadcast/direct.hip");
  add_number(kernel, "root", problem.root.value(), "", "");
  const int vector = choose_vector(request, kernel, problem.dtype);
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), vector);
  choose_unroll(request, kernel, 2);
  add_types(request, kernel, {});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {"output"});
  return draft_of(std::move(kernel), InPlace::same_buffer);
}

std::vector<Work> cost_of_direct(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes, .memory_bytes = 2 * bytes, .signals = 2}};
}

/// Each rank has a slot from each other; all but the root's are for its empty lines.
Draft plan_low_latency(const Request& request) {
  KernelPlan kernel = start_kernel(request, "broadcast/low_latency.hip");
  add_number(kernel, "root", request.problem.root.value(), "", "");
  return plan_lines(request, std::move(kernel),
                    {.arguments = arguments(request.problem), .in_place = InPlace::same_buffer});
}

/// Of the rate at which all send to all: here one does. As measured on four H100s, 64 KiB to 4 MiB.
constexpr double links_of_lines = 1.1;

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target&, const Draft& draft) {
  std::vector<Work> works = work_of_lines(problem, draft, 1, 2);
  works.front().of_links = links_of_lines;
  return works;
}

Draft plan_low_latency_scatter_gather(const Request& request) {
  KernelPlan kernel = start_kernel(request, "broadcast/low_latency_scatter_gather.hip");
  add_number(kernel, "root", request.problem.root.value(), "", "");
  return plan_lines(request, std::move(kernel),
                    {.arguments = arguments(request.problem),
                     .in_place = InPlace::same_buffer,
                     .parts = std::max(1, request.problem.world - 1)});
}

/// The root sends all of its lines once, the others most of a part to each other, beside it.
std::vector<Work> cost_of_low_latency_scatter_gather(const Problem& problem, const Target&, const Draft& draft) {
  const double bytes = bytes_of_elements(problem);
  const double factor = line_factor(problem, draft);
  return {{.link_bytes = problem.world > 1 ? factor * bytes : 0,
           .of_links = links_of_lines,
           .memory_bytes = (2 * factor + 2) * bytes,
           .lines = 2}};
}

/// In chunks, each of which a block announces by a flag of its own.
Draft plan_pipeline(const Request& request, std::string_view template_path, std::int64_t parts,
                    const ChunkBytes& chunks) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, template_path);
  add_number(kernel, "root", problem.root.value(), "", "");
  const int vector = choose_vector(request, kernel, problem.dtype);
  auto elements = static_count(problem, {{"m"}, {"n"}});
  if (elements) *elements = divide_up(*elements, parts);
  choose_pipeline(request, kernel, elements, iris::bytes_of(problem.dtype), vector, chunks);
  add_types(request, kernel, {});
  add_flags(kernel, kernel.number("blocks"));
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {"output"});
  return draft_of(std::move(kernel), InPlace::same_buffer);
}

// As measured on four H100s, 4 MiB to 1 GiB.
Draft plan_scatter_gather(const Request& request) {
  return plan_pipeline(request, "broadcast/scatter_gather.hip", std::max(1, request.problem.world - 1),
                       {.least = 4096, .most = 16384, .of_dynamic = 8192, .per_share = 384});
}

Draft plan_chain(const Request& request) {
  return plan_pipeline(request, "broadcast/chain.hip", 1,
                       {.least = 16384, .most = 32768, .of_dynamic = 32768, .per_share = 128});
}

double bytes_of_turn(const Problem& problem, const Draft& draft) {
  return bytes_of_turn(draft.kernels.front(), iris::bytes_of(problem.dtype));
}

// Both as measured on four H100s: 1 MiB to 1 GiB where they are the fastest, within 8 %.

/// What the others pass on flows beside what the root sends, but for the last chunk of every block. Beside the barriers
/// a chunk is announced once, waited for, read and passed on.
std::vector<Work> cost_of_scatter_gather(const Problem& problem, const Target&, const Draft& draft) {
  const double bytes = bytes_of_elements(problem);
  const double last = bytes_of_turn(problem, draft) * (problem.world - 1);
  const double passed_on = problem.world > 2 ? (problem.world - 2.0) / (problem.world - 1) : 0;
  return {{.link_bytes = problem.world > 1 ? bytes : 0,
           .of_links = 1.02,
           .fill_bytes = passed_on * std::min(bytes, last),
           .memory_bytes = 2 * bytes,
           .signals = 5}};
}

/// Every rank but the last sends all, the first chunk after it has passed the ranks before, each of which announces it
/// only once the next has been moved.
std::vector<Work> cost_of_chain(const Problem& problem, const Target&, const Draft& draft) {
  const double bytes = bytes_of_elements(problem);
  const int between = std::max(0, problem.world - 2);
  return {{.link_bytes = problem.world > 1 ? bytes : 0,
           .over_one_link = true,
           .fill_bytes = 2 * between * std::min(bytes, bytes_of_turn(problem, draft)),
           .memory_bytes = 2 * bytes,
           .signals = 4 + between}};
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 1> direct_templates = {"broadcast/direct.hip"};
constexpr std::array<std::string_view, 1> low_latency_templates = {"broadcast/low_latency.hip"};
constexpr std::array<std::string_view, 1> low_latency_scatter_gather_templates = {
    "broadcast/low_latency_scatter_gather.hip"};
constexpr std::array<std::string_view, 4> chunk_keys = {"blocks", "threads", "vector", "chunk"};
constexpr std::array<std::string_view, 1> scatter_gather_templates = {"broadcast/scatter_gather.hip"};
constexpr std::array<std::string_view, 1> chain_templates = {"broadcast/chain.hip"};

constexpr std::array variants = {
    Variant{.name = "direct",
            .summary = "the root pushes its input into all outputs",
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
    Variant{.name = "low_latency_scatter_gather",
            .summary = "scatter_gather in such words, without a barrier: for sizes in between",
            .templates = low_latency_scatter_gather_templates,
            .keys = keys,
            .plan = plan_low_latency_scatter_gather,
            .cost = cost_of_low_latency_scatter_gather},
    Variant{.name = "scatter_gather",
            .summary = "the root sends a part to each, who pass it on to the rest, chunk by chunk: for large sizes",
            .templates = scatter_gather_templates,
            .keys = chunk_keys,
            .plan = plan_scatter_gather,
            .cost = cost_of_scatter_gather},
    Variant{.name = "chain",
            .summary = "each rank passes it on to the next, chunk by chunk: for large sizes where links share a switch",
            .templates = chain_templates,
            .keys = chunk_keys,
            .plan = plan_chain,
            .cost = cost_of_chain},
};

constexpr BusConvention bus = {.size_has_world = false, .bus_over_algorithm = [](double) { return 1.0; }};

std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const Values& of_root = inputs[static_cast<std::size_t>(problem.root.value())][0];
  return std::vector<Expectation>(static_cast<std::size_t>(problem.world), exactly(of_root));
}

}  // namespace

extern const Pattern broadcast = {
    .name = "broadcast",
    .summary = "(m,n) -> (m,n): every rank gets the root's input",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
