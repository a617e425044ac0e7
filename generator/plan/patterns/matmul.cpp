#include <algorithm>

#include "generator/plan/loop_times.hpp"
#include "generator/plan/padding.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

constexpr std::array<std::string_view, 1> tiled = {"matmul/tiled.hip"};
constexpr std::array<std::string_view, 1> split = {"matmul/split_k.hip"};
constexpr std::array<std::string_view, 2> padding = {"pad/rows.hip", "pad/transposed.hip"};

std::vector<Argument> arguments(const Problem& problem) {
  return product_arguments(problem, {{"m"}, {"k"}}, {"n"}, {{"m"}, {"n"}});
}

Products products(std::int64_t depth_parts = 1) {
  return {.rows = {"m"}, .columns = {"n"}, .a_rows = {"m"}, .depth_parts = depth_parts};
}

Draft plan_tiled(const Request& request) {
  KernelPlan kernel = start_local_kernel(request, "matmul/tiled.hip");
  choose_tiles(request, kernel, products());
  choose_matmul_grid(request, kernel, products());
  launch_blocks_with_tiles(request, kernel, products());
  add_types(request, kernel, {.result = true, .accumulate = true});
  kernel.arguments = place(arguments(request.problem), 16, {});
  return draft_of(std::move(kernel), InPlace::no);
}

Draft plan_split_k(const Request& request) {
  KernelPlan kernel = start_kernel(request, "matmul/split_k.hip");
  kernel.waits_for_ranks = false;
  const std::int64_t parts = choose_depth_parts(request, kernel, products());
  kernel.waits = parts > 1;
  choose_tiles(request, kernel, products(parts));
  choose_matmul_grid(request, kernel, products(parts));
  const std::int64_t blocks = kernel.number("blocks");
  if (parts > blocks && request.wanted("parts")) {
    refuse(request, "parts",
           std::to_string(parts) + " parts of a tile, and " + std::to_string(blocks) +
               " blocks; each part needs a block of its own");
  }
  if (kernel.main_loop() != MainLoop::wgmma) choose_summing(request, kernel, static_cast<int>(parts));
  add_types(request, kernel, {.result = true, .accumulate = true});
  if (parts > 1) add_flags(kernel, blocks);
  kernel.workspace = sums_of_parts(request.problem, kernel);
  kernel.arguments = place(arguments(request.problem), 16, {});
  return draft_of(std::move(kernel), InPlace::no);
}

/// Whether those of A are.
bool has_whole_lines(const Problem& problem) {
  return known_multiple(problem.extent("k")) % elements_of_line(problem.dtype) == 0;
}

std::string refusal_of_padded(const Problem& problem, const Target&) {
  const bool is_whole = problem.layout_b == iris::Layout::nk && has_whole_lines(problem);
  return is_whole ? "has nothing to pad: rows of A and B are whole cache lines" : "";
}

/// Copies of A and of B, as (n,k), whose rows begin at cache lines and are filled with zeros to the end of their last
/// one, then their product: zeros change no sum.
Draft plan_padded(const Request& request) {
  const Problem& problem = request.problem;
  const Dimension row = padded_row({"k"}, problem.dtype);
  Composition whole(request);
  PartRequest product = matmul_part(problem, "a", "output", problem.result);
  const auto pad = [&](const std::string& buffer, const char* rows, bool transposed) {
    const std::string padded = "padded_" + buffer;
    whole.add_intermediate(padded, problem.dtype, {{rows}, row});
    whole.add({.name = "pad_" + buffer,
               .problem = {.pattern = std::string(pad_pattern),
                           .dtype = problem.dtype,
                           .result = problem.dtype,
                           .layout_b = transposed ? std::optional(iris::Layout::kn) : std::nullopt},
               .extents = {{"m", {rows}}, {"n", {"k"}}},
               .buffers = {{"input", buffer}, {"output", padded}},
               .settings = {}});
    std::ranges::find(product.buffers, buffer, &std::pair<std::string, std::string>::first)->second = padded;
  };
  if (!has_whole_lines(problem)) pad("a", "m", false);
  pad("b", "n", problem.layout_b == iris::Layout::kn);
  product.problem.layout_b = iris::Layout::nk;
  std::ranges::find(product.extents, "k", &std::pair<std::string, Dimension>::first)->second = row;
  product.settings.emplace_back("parts", "parts");
  whole.add(product);
  return whole.take();
}

/// Of few rows, where reading B takes longer than to multiply: the parts are added up after that.
std::vector<Work> cost(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& kernel = draft.kernels[0];
  const std::int64_t parts = kernel.template_path == split[0] ? kernel.number("parts") : 1;
  double bytes = 0;
  for (const Argument& argument : arguments(problem)) bytes += matrix_bytes(problem, argument.shape, argument.dtype);
  const Tiles tiles = {kernel.number("tile_m"), kernel.number("tile_n"), kernel.number("tile_k"), 0, 0};
  return {{.memory_bytes = bytes,
           .multiply_us = std::max(multiply_us(problem, target, kernel, products(parts)),
                                   reading_us(target, bytes) + adding_us(problem, target, products(parts), tiles))}};
}

constexpr std::array<std::string_view, 7> split_keys = {"blocks", "threads", "vector", "parts",
                                                        "tile_m", "tile_n",  "tile_k"};

constexpr std::array variants = {
    Variant{.name = "tiled",
            .summary = "blocks take the tiles of the output in turn",
            .templates = tiled,
            .keys = tile_keys,
            .plan = plan_tiled,
            .cost = cost},
    Variant{.name = "split_k",
            .summary =
                "blocks share the tiles that are left after whole turns, each along a part of k, and add the parts up",
            .templates = split,
            .keys = split_keys,
            .plan = plan_split_k,
            .cost = cost},
    Variant{.name = "padded",
            .summary = "copies of A and B whose rows are whole cache lines, then their product",
            .templates = padding,
            .keys = split_keys,
            .refusal = refusal_of_padded,
            .plan = plan_padded,
            .cost = cost_of_parts},
};

/// Tolerance: product_error() and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t m = problem.extent("m").value;
  const std::int64_t n = problem.extent("n").value;
  std::vector<Expectation> expectations;
  for (const auto& of_rank : inputs) {
    Product product(m * n);
    multiply_into(product, problem, of_rank[0].data(), of_rank, m, problem.extent("k").value, n);
    expectations.push_back(expect_product(product, problem));
  }
  return expectations;
}

}  // namespace

extern const Pattern matmul = {
    .name = "matmul",
    .summary = "A(m,k), B(k,n) -> (m,n): each rank's own product",
    .variants = variants,
    .arguments = arguments,
    .reference = reference,
    .product = whole_product,
};

}  // namespace irisgen
