#include "generator/plan/product_lines.hpp"

#include <algorithm>
#include <utility>

namespace irisgen {
namespace {

/// Of which unroll makes up: a thread has no more than four lines of a tile of 64 rows and 64 columns.
constexpr int fewest_sources = 4;

Products products() {
  return {.rows = {"m"}, .columns = {"n"}, .a_rows = {"m"}, .completes_tiles = true};
}

}  // namespace

Draft plan_sums_in_lines(const Request& request, std::string_view template_path, const Dimension& result_rows,
                         std::vector<Argument> arguments) {
  KernelPlan kernel = start_kernel(request, template_path);
  choose_tiles(request, kernel, products());
  choose_matmul_grid(request, kernel, products());
  choose_summing(request, kernel, std::max(fewest_sources, request.problem.world));
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel);
  kernel.workspace = mailboxes_of_rows(request.problem, kernel, result_rows);
  kernel.arguments = place(std::move(arguments), access_bytes, {});
  return draft_of(std::move(kernel), InPlace::no);
}

/// Measured on two H100s: what lines of one tile hide behind the products of another they hold up.
std::vector<Work> cost_of_sums_in_lines(const Problem& problem, const Target& target, const Draft& draft,
                                        double peers) {
  constexpr double share_of_links = 0.92;  // that blocks fill which send and sum their own tiles
  constexpr double until_sent_us = 1;      // from the sums to the first line
  const double link_bytes = 2 * peers * matrix_bytes(problem, {{"m"}, {"n"}}, problem.result);
  const double multiplied_us = multiply_us(problem, target, draft.kernels[0], products());
  return {{.link_bytes = link_bytes,
           .memory_bytes = 2 * link_bytes,
           .multiply_us = multiplied_us + until_sent_us + link_bytes / (share_of_links * target.rates.link_gbs) / 1e3,
           .lines = 1}};
}

}  // namespace irisgen
