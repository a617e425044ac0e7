#include "generator/plan/lines.hpp"

#include <algorithm>
#include <utility>

namespace irisgen {
namespace {

/// A slot for the lines of each rank's message, or of a part of it, in every mailbox.
iris::ByteSize mailboxes_of(const Problem& problem, std::int64_t of_line, const LineKernel& kernel) {
  const std::int64_t slots = std::int64_t{problem.world} * kernel.mailboxes;
  if (const auto count = static_count(problem, {{"m"}, {"n"}})) {
    const std::int64_t lines = divide_up(std::max<std::int64_t>(1, divide_up(*count, of_line)), kernel.parts);
    return {.terms = {{2 * round_up(slots * lines * line_size, heap_alignment), {}}}};
  }
  const std::int64_t bytes = iris::bytes_of(problem.dtype);
  // A part has less than two lines more than its share of all elements.
  return workspace_of(problem, static_cast<int>(slots), {{"m"}, {"n", line_size, of_line * bytes * kernel.parts}},
                      problem.dtype, static_cast<int>(2 * line_size / bytes));
}

/// Bytes of elements in each line.
std::int64_t bytes_of_line(const Request& request, int parts) {
  const Problem& problem = request.typical();
  const std::int64_t bytes = iris::bytes_of(problem.dtype);
  const std::int64_t from = request.target.wide_lines_from;
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const bool is_long = from > 0 && count && (problem.world - 1) * *count * bytes / parts > from;
  // Wide lines begin on boundaries of 4 bytes, and elements of 8 do not fill them.
  const bool fits = bytes < 8 && request.wanted("vector").value_or(1) * bytes <= 4;
  return is_long && fits ? wide_line_bytes : line_bytes;
}

/// Twice as many blocks as others have, of half as many threads: on more compute units lines leave and arrive sooner,
/// by up to 8 % of a launch on four H100s (docs/measured.md).
void choose_grid_of_lines(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                          int of_line) {
  if (request.on_host()) return choose_grid(request, kernel, elements, of_line);
  const std::int64_t threads = decide(request, kernel, "threads", request.target.threads / 2, "",
                                      "few in a block, for lines leave sooner from more");
  decide_blocks(request, kernel, elements, threads * of_line, 2,
                "known only at launch: as many as keep the links busy");
  bound_grid(request, kernel);
}

}  // namespace

void add_line(KernelPlan& kernel, std::int64_t bytes, Dtype dtype) {
  add_number(kernel, "line", static_cast<int>(bytes / iris::bytes_of(dtype)), "elements in a line",
             bytes == line_bytes ? "8 bytes, half of them beside each of two marks" : "12 bytes before one mark");
}

Draft plan_lines(const Request& request, KernelPlan kernel, const LineKernel& lines) {
  const Problem& problem = request.problem;
  const std::int64_t bytes = bytes_of_line(request, lines.parts);
  const int of_line = static_cast<int>(bytes / iris::bytes_of(problem.dtype));
  const int vector = choose_vector_of(request, kernel, bytes & -bytes, problem.dtype, lines.run);
  add_line(kernel, bytes, problem.dtype);
  auto message = static_count(problem, {{"m"}, {"n"}});
  if (message) *message = divide_up(*message, lines.parts);
  choose_grid_of_lines(request, kernel, message, of_line);
  add_types(request, kernel, lines.types);
  kernel.workspace = mailboxes_of(problem, of_line, lines);
  kernel.arguments = place(lines.arguments, static_cast<int>(vector * iris::bytes_of(problem.dtype)), {});
  return draft_of(std::move(kernel), lines.in_place);
}

double line_factor(const Problem& problem, const Draft& draft) {
  return static_cast<double>(line_size) /
         static_cast<double>(draft.kernels[0].number("line") * iris::bytes_of(problem.dtype));
}

std::vector<Work> work_of_lines(const Problem& problem, const Draft& draft, double in_lines, double plain) {
  const double bytes = bytes_of_elements(problem);
  const double factor = line_factor(problem, draft);
  return {{.link_bytes = factor * (problem.world - 1) * bytes,
           .memory_bytes = (factor * in_lines + plain) * bytes,
           .lines = 1}};
}

}  // namespace irisgen
