#include "generator/plan/lines.hpp"

namespace irisgen {
namespace {

/// A slot for the lines of each rank's message.
iris::ByteSize mailboxes_of(const Problem& problem, int of_line) {
  const std::vector<Dimension> message = {{"m"}, {"n"}};
  const int slots = 2 * problem.world;  // each element travels beside as many bytes of marks
  const bool empty = static_count(problem, message) == 0;
  return workspace_of(problem, slots, empty ? std::vector<Dimension>{} : message, problem.dtype, of_line);
}

}  // namespace

Draft plan_lines(const Request& request, KernelPlan kernel, const LineKernel& lines) {
  const Problem& problem = request.problem;
  const int vector = choose_vector_of(request, kernel, line_bytes, problem.dtype, lines.run);
  const int of_line = static_cast<int>(line_bytes / iris::bytes_of(problem.dtype));
  choose_grid(request, kernel, static_count(problem, {{"m"}, {"n"}}), of_line);
  add_types(request, kernel, lines.types);
  kernel.workspace = mailboxes_of(problem, of_line);
  kernel.arguments = place(lines.arguments, static_cast<int>(vector * iris::bytes_of(problem.dtype)), {});
  return draft_of(std::move(kernel), lines.in_place);
}

std::vector<Work> work_of_lines(const Problem& problem, double memory_factor) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = 2 * (problem.world - 1) * bytes, .memory_bytes = memory_factor * bytes, .lines = 1}};
}

}  // namespace irisgen
