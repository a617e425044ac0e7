#include <array>

#include "generator/plan/copies.hpp"
#include "generator/plan/lines.hpp"
#include "generator/plan/planning.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

bool by_columns(const Problem& problem) {
  return problem.shard == "n";
}

/// The block of the output that comes from one rank, and how many of them lie side by side.
std::vector<Argument> arguments(const Problem& problem) {
  const std::int64_t world = problem.world;
  std::vector<Dimension> gathered = {{"m", world}, {"n"}};
  if (by_columns(problem)) gathered = {{"m"}, {"n", world}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = {{"m"}, {"n"}}},
          {.name = "output", .access = Access::write, .dtype = problem.dtype, .shape = std::move(gathered)}};
}

/// Nobody writes a rank's own block of its output but itself, with what it reads there. Columns are not a block.
InPlace in_place(const Problem& problem) {
  return by_columns(problem) ? InPlace::no : InPlace::own_block;
}

Draft plan_direct(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel =
      start_kernel(request, by_columns(problem) ? "all_gather/direct_columns.hip" : "all_gather/direct.hip");
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const int vector =
      choose_vector(request, kernel, problem.dtype, by_columns(problem) ? static_length(problem, {"n"}) : count);
  choose_grid_of_pushes(request, kernel, count, vector);
  choose_unroll(request, kernel, 2);
  add_types(request, kernel, {});
  add_flags(kernel);
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {"output"});
  return draft_of(std::move(kernel), in_place(problem));
}

std::vector<Work> cost_of_direct(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes, .memory_bytes = (problem.world + 1) * bytes, .signals = 2}};
}

std::string refuse_copy_engine(const Problem& problem, const Target&) {
  return by_columns(problem) ? "copies whole shards, and columns are not contiguous; take direct" : "";
}

Draft plan_copy_engine(const Request& request) {
  Draft draft = plan_copies(request, arguments(request.problem), iris::BlockIndex::first);
  draft.in_place = in_place(request.problem);
  return draft;
}

Draft plan_low_latency(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_kernel(request, "all_gather/low_latency.hip");
  add_number(kernel, "column_shards", by_columns(problem) ? problem.world : 1, "", "");
  const auto run = by_columns(problem) ? static_length(problem, {"n"}) : static_count(problem, {{"m"}, {"n"}});
  return plan_lines(request, std::move(kernel),
                    {.arguments = arguments(problem), .run = run, .in_place = in_place(problem)});
}

std::vector<Work> cost_of_low_latency(const Problem& problem, const Target&, const Draft& draft) {
  return work_of_lines(problem, draft, problem.world, problem.world + 1.0);
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 2> direct_templates = {"all_gather/direct.hip", "all_gather/direct_columns.hip"};
constexpr std::array<std::string_view, 2> copy_engine_templates = {"barrier/same_block.hip", "copies/own_shard.hip"};
constexpr std::array<std::string_view, 1> low_latency_templates = {"all_gather/low_latency.hip"};

constexpr std::array variants = {
    Variant{.name = "direct",
            .summary = "every rank pushes its input into all outputs",
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
            .summary = "the copy engine moves shards, one peer after another, between two barriers: for large sizes",
            .templates = copy_engine_templates,
            .keys = {},
            .refusal = refuse_copy_engine,
            .plan = plan_copy_engine,
            .cost = cost_of_copies},
};

constexpr BusConvention bus = {.size_has_world = true,
                               .bus_over_algorithm = [](double world) { return (world - 1) / world; }};

std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  const std::int64_t rows = by_columns(problem) ? m : 1;  // of shards
  const std::int64_t length = by_columns(problem) ? n : m * n;
  Values gathered;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const auto& of_rank : inputs) {
      const auto begin = of_rank[0].begin() + row * length;
      gathered.insert(gathered.end(), begin, begin + length);
    }
  }
  return std::vector<Expectation>(static_cast<std::size_t>(problem.world), exactly(std::move(gathered)));
}

}  // namespace

extern const Pattern all_gather = {
    .name = "all_gather",
    .summary = "(m,n) -> (world*m,n), or with shard: n (m,world*n): every rank gets all inputs, in the order of ranks",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .bus = &bus,
};

}  // namespace irisgen
