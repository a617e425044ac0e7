#include <array>

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
  return draft_of(std::move(kernel), true);
}

std::vector<Work> cost_of_direct(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = (problem.world - 1) * bytes, .memory_bytes = 2 * bytes, .signals = 2}};
}

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};
constexpr std::array<std::string_view, 1> templates = {"broadcast/direct.hip"};

constexpr std::array variants = {
    Variant{.name = "direct",
            .summary = "the root pushes its input into all outputs",
            .templates = templates,
            .keys = keys,
            .plan = plan_direct,
            .cost = cost_of_direct},
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
