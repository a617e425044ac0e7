#include "generator/plan/product_lines.hpp"

#include <algorithm>
#include <utility>

#include "generator/plan/lines.hpp"

namespace irisgen {
namespace {

Products products() {
  return {.rows = {"m"}, .columns = {"n"}, .a_rows = {"m"}, .completes_tiles = true};
}

/// Wide lines where they carry much, as those of collectives.
std::int64_t bytes_of_line(const Request& request, const SumsInLines& lines) {
  const Problem& problem = request.typical();
  const std::int64_t bytes = iris::bytes_of(problem.result);
  const std::int64_t from = request.target.wide_lines_from;
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const bool is_long =
      from > 0 && count && lines.sent * static_cast<double>(*count * bytes) > static_cast<double>(from);
  return is_long && bytes < line_bytes ? wide_line_bytes : line_bytes;
}

/// Decides `unroll`: no more than a thread has of the lines that it sums.
void choose_summing_of_lines(const Request& request, KernelPlan& kernel, const SumsInLines& lines) {
  const Problem& problem = request.typical();
  if (kernel.main_loop() != MainLoop::wgmma) return choose_summing(request, kernel, problem.world);
  constexpr std::int64_t summing_threads = 256;
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t all_rows = static_length(problem, {"m"}).value_or(tile_m * lines.ranks);
  const std::int64_t rows = lines.of_tiles ? divide_up(std::min(tile_m, all_rows), lines.ranks)
                                           : std::min(tile_m, divide_up(all_rows, lines.ranks));
  choose_unroll(request, kernel, lines.ways * problem.world, "lines of each rank in flight",
                divide_up(std::max<std::int64_t>(1, rows) * lines_of_tile_row(kernel), summing_threads));
}

MailboxRows mailboxes(const KernelPlan& kernel, const SumsInLines& lines) {
  const std::int64_t tile_m = kernel.number("tile_m");
  if (lines.of_tiles) return {divide_up(tile_m, lines.ranks), tile_m, lines.ways};
  return {1, lines.ranks, lines.ways};
}

}  // namespace

Draft plan_sums_in_lines(const Request& request, std::string_view template_path, SumsInLines lines) {
  KernelPlan kernel = start_kernel(request, template_path);
  choose_tiles(request, kernel, products());
  choose_matmul_grid(request, kernel, products());
  add_line(kernel, bytes_of_line(request, lines), request.problem.result);
  choose_summing_of_lines(request, kernel, lines);
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel);
  kernel.workspace = mailboxes_of_tiles(request.problem, kernel, mailboxes(kernel, lines));
  kernel.arguments = place(std::move(lines.arguments), access_bytes, {});
  return draft_of(std::move(kernel), InPlace::no);
}

/// Measured on two H100s and on four: what lines of one tile hide behind the products of another they hold up. So both
/// take as long as alone.
std::vector<Work> cost_of_sums_in_lines(const Problem& problem, const Target& target, const Draft& draft,
                                        const SumsInLines& lines) {
  constexpr double until_sent_us = 1;  // from the sums to the first line
  const KernelPlan& kernel = draft.kernels[0];
  // That blocks fill which send and sum their own tiles: if these are not for all ranks, some send more than others.
  const bool is_even = lines.ranks == 1 || lines.of_tiles || length(problem, "m") <= kernel.number("tile_m");
  const double share_of_links = 0.94 * (is_even ? 1 : problem.world / (problem.world + 1.0));
  const auto of_tile_row = static_cast<double>(lines_of_tile_row(kernel) * line_size);
  const double results = length(problem, "m") * length(problem, "n");
  const double link_bytes = lines.sent * results / static_cast<double>(kernel.number("tile_n")) * of_tile_row;
  const double multiplied_us = multiply_us(problem, target, kernel, {.rows = {"m"}, .columns = {"n"}, .a_rows = {"m"}});
  return {{.link_bytes = link_bytes,
           .memory_bytes = 2 * link_bytes,
           .multiply_us = multiplied_us + until_sent_us + link_bytes / (share_of_links * target.rates.link_gbs) / 1e3,
           .lines = lines.ways}};
}

}  // namespace irisgen
