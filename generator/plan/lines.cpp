#include "generator/plan/lines.hpp"

namespace irisgen {
namespace {

/// A slot for the lines of each rank's message.
iris::ByteSize mailboxes_of(const Problem& problem, int of_line, int parts) {
  const std::vector<Dimension> message = {{"m"}, {"n"}};
  const int slots = 2 * problem.world;  // each element travels beside as many bytes of marks
  const bool empty = static_count(problem, message) == 0;
  iris::ByteSize bytes = workspace_of(problem, static_cast<int>(divide_up(slots, parts)),
                                      empty ? std::vector<Dimension>{} : message, problem.dtype, of_line);
  // A part has less than two lines more than its share of all elements.
  if (parts > 1) bytes.terms.push_back({2 * round_up(std::int64_t{2} * slots * line_bytes, heap_alignment), {}});
  return bytes;
}

}  // namespace

Draft plan_lines(const Request& request, KernelPlan kernel, const LineKernel& lines) {
  const Problem& problem = request.problem;
  const int vector = choose_vector_of(request, kernel, line_bytes, problem.dtype, lines.run);
  const int of_line = static_cast<int>(line_bytes / iris::bytes_of(problem.dtype));
  auto message = static_count(problem, {{"m"}, {"n"}});
  if (message) *message = divide_up(*message, lines.parts);
  choose_grid(request, kernel, message, of_line);
  add_types(request, kernel, lines.types);
  kernel.workspace = mailboxes_of(problem, of_line, lines.parts);
  kernel.arguments = place(lines.arguments, static_cast<int>(vector * iris::bytes_of(problem.dtype)), {});
  return draft_of(std::move(kernel), lines.in_place);
}

std::vector<Work> work_of_lines(const Problem& problem, double memory_factor) {
  const double bytes = bytes_of_elements(problem);
  return {{.link_bytes = 2 * (problem.world - 1) * bytes, .memory_bytes = memory_factor * bytes, .lines = 1}};
}

}  // namespace irisgen
