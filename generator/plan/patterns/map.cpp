#include <algorithm>
#include <array>

#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  const std::vector<Dimension> shape = {{"m"}, {"n"}};
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = shape},
          {.name = "output", .access = Access::write, .dtype = problem.result, .shape = shape}};
}

Draft plan_element_wise(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_local_kernel(request, "map/element_wise.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  constexpr std::int64_t threads_of_unit = 2048;
  const std::int64_t threads = request.target.threads;
  choose_local_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}),
                    {.threads = threads,
                     .why_threads = "hides memory latency",
                     .blocks_of_unit = threads_of_unit / threads,
                     .why_blocks = "as many as are resident together",
                     .block_takes = threads * vector});
  // Of each access the elements become values in the accumulator's type, all at once.
  const std::int64_t widening = iris::bytes_of(problem.accumulate) / iris::bytes_of(problem.dtype);
  choose_unroll(request, kernel, static_cast<int>(std::max<std::int64_t>(1, widening)));
  add_types(request, kernel, {.result = true, .accumulate = true});
  kernel.arguments = place(arguments(problem), static_cast<int>(vector * iris::bytes_of(problem.dtype)), {});
  return draft_of(std::move(kernel), InPlace::no);
}

std::vector<Work> cost_of_element_wise(const Problem& problem, const Target&, const Draft&) {
  return {{.memory_bytes = 2 * bytes_of_elements(problem)}};
}

constexpr std::array<std::string_view, 1> templates = {"map/element_wise.hip"};

constexpr std::array variants = {
    Variant{.name = "element_wise",
            .summary = "each thread reads elements, calls the function and writes what it gives",
            .templates = templates,
            .keys = {},
            .plan = plan_element_wise,
            .cost = cost_of_element_wise},
};

}  // namespace

extern const Pattern map = {
    .name = map_pattern,
    .summary = "(m,n) -> (m,n): each element after a prologue, on each rank alone",
    .variants = variants,
    .is_step = true,
    .arguments = arguments,
};

}  // namespace irisgen
