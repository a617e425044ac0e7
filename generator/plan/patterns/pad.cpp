#include <algorithm>
#include <array>

#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/padding.hpp"

namespace irisgen {
namespace {

/// Of the input, which is transposed where it is a B as (k,n).
bool is_transposed(const Problem& problem) {
  return problem.layout_b == iris::Layout::kn;
}

std::vector<Dimension> output_of(const Problem& problem) {
  return {{"m"}, padded_row({"n"}, problem.dtype)};
}

std::vector<Argument> arguments(const Problem& problem) {
  std::vector<Dimension> input = {{"m"}, {"n"}};
  if (is_transposed(problem)) std::ranges::reverse(input);
  return {{.name = "input", .access = Access::read, .dtype = problem.dtype, .shape = std::move(input)},
          {.name = "output", .access = Access::write, .dtype = problem.result, .shape = output_of(problem)}};
}

Draft finish(const Request& request, KernelPlan kernel) {
  add_types(request, kernel, {});
  kernel.arguments = place(arguments(request.problem), static_cast<int>(access_bytes), {});
  return draft_of(std::move(kernel), InPlace::no);
}

constexpr const char* measured = "fastest on an H200";
constexpr std::int64_t threads_of_block = 128;
constexpr std::int64_t packs_of_thread = 2;

void choose_grid_and_unroll(const Request& request, KernelPlan& kernel, std::int64_t blocks_of_unit,
                            std::int64_t block_takes) {
  choose_local_grid(request, kernel, static_count(request.problem, output_of(request.problem)),
                    {.threads = threads_of_block,
                     .why_threads = measured,
                     .blocks_of_unit = blocks_of_unit,
                     .why_blocks = measured,
                     .block_takes = block_takes});
  add_number(kernel, "unroll", request.on_host() ? 1 : packs_of_thread, "accesses in flight",
             request.on_host() ? "one after the other" : measured);
}

/// Small blocks, most of which copy once, take an H200 within 5 % of what the driver's copies do.
Draft plan_rows(const Request& request) {
  constexpr std::int64_t blocks_of_unit = 64;
  const Dtype dtype = request.problem.dtype;
  KernelPlan kernel = start_local_kernel(request, "pad/rows.hip");
  add_number(kernel, "cache_line", elements_of_line(dtype), "elements", "at which each row of the output begins");
  choose_grid_and_unroll(request, kernel, blocks_of_unit,
                         threads_of_block * packs_of_thread * access_bytes / iris::bytes_of(dtype));
  return finish(request, std::move(kernel));
}

Draft plan_transposed(const Request& request) {
  constexpr std::int64_t blocks_of_unit = 32;
  constexpr std::int64_t tile_m = 64;
  const std::int64_t tile_n = elements_of_line(request.problem.dtype);
  KernelPlan kernel = start_local_kernel(request, "pad/transposed.hip");
  add_number(kernel, "tile_m", tile_m, "columns of the input", "");
  add_number(kernel, "tile_n", tile_n, "rows of the input",
             "a cache line of the output, at which each of its rows begins");
  choose_grid_and_unroll(request, kernel, blocks_of_unit, tile_m * tile_n);
  return finish(request, std::move(kernel));
}

std::string refusal_of_rows(const Problem& problem, const Target&) {
  return is_transposed(problem) ? "copies rows, which are columns of the input here" : "";
}

std::string refusal_of_transposed(const Problem& problem, const Target&) {
  return is_transposed(problem) ? "" : "copies columns, which are rows of the input here";
}

std::vector<Work> cost(const Problem& problem, const Target&, const Draft&) {
  double bytes = 0;
  for (const Argument& argument : arguments(problem)) bytes += matrix_bytes(problem, argument.shape, argument.dtype);
  return {{.memory_bytes = bytes}};
}

constexpr std::array<std::string_view, 1> rows = {"pad/rows.hip"};
constexpr std::array<std::string_view, 1> transposed = {"pad/transposed.hip"};

constexpr std::array variants = {
    Variant{.name = "rows",
            .summary = "threads shift what they read into place",
            .templates = rows,
            .keys = {},
            .refusal = refusal_of_rows,
            .plan = plan_rows,
            .cost = cost},
    Variant{.name = "transposed",
            .summary = "blocks turn one tile after another in shared memory",
            .templates = transposed,
            .keys = {},
            .refusal = refusal_of_transposed,
            .plan = plan_transposed,
            .cost = cost},
};

}  // namespace

extern const Pattern pad = {
    .name = pad_pattern,
    .summary = "(m,n), or B(n,m) -> (m,n) with zeros up to whole lines, on each rank alone",
    .variants = variants,
    .is_step = true,
    .arguments = arguments,
};

}  // namespace irisgen
