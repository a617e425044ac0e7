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

/// Memory alone is the limit, and it takes many accesses at once to get there.
void choose_threads(const Request& request, KernelPlan& kernel, int vector) {
  constexpr std::int64_t threads_of_unit = 2048;
  const Target& target = request.target;
  const std::int64_t threads = target.threads;
  const std::int64_t most = request.on_host() ? target.data_blocks : target.compute_units * (threads_of_unit / threads);
  const auto elements = static_count(request.problem, {{"m"}, {"n"}});
  const std::int64_t needed = elements ? divide_up(*elements, threads * vector) : most;
  add_number(kernel, "threads", threads, "",
             request.on_host() ? "fibers, enough to interleave" : "hides memory latency");
  add_number(kernel, "blocks", std::clamp<std::int64_t>(needed, 1, most), "",
             needed < most ? "one for each " + std::to_string(threads * vector) + " elements"
                           : "as many as are resident together");
  bound_grid(request, kernel);
}

Draft plan_element_wise(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_local_kernel(request, "map/element_wise.hip");
  const int vector = choose_vector(request, kernel, problem.dtype);
  choose_threads(request, kernel, vector);
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
    .arguments = arguments,
};

}  // namespace irisgen
