#include "generator/plan/wgmma_stages.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace irisgen {

using iris::swizzled_rows;

std::int64_t wgmma_stage_rows(std::int64_t tile_m, std::optional<std::int64_t> most_rows) {
  if (!most_rows) return tile_m;
  return std::min(tile_m, std::max(swizzled_rows, divide_up(*most_rows, swizzled_rows) * swizzled_rows));
}

std::int64_t wgmma_stage_groups(const Problem& problem, const Products& products, std::int64_t stage_rows,
                                std::int64_t tile_n) {
  constexpr std::int64_t widest = 96;
  constexpr std::int64_t fewest_stages = 16;
  const auto k = static_length(problem, {"k"});
  const std::int64_t stages = k ? *k / depth_of(problem, wgmma_depth) : 0;
  const bool in_turn = stage_rows <= wgmma_rows && tile_n <= widest && stages >= fewest_stages &&
                       products.depth_parts == 1 && !products.gathers_rows;
  return in_turn ? 2 : 1;
}

std::int64_t wgmma_box_rows(const Products& products, std::int64_t stage_rows) {
  const bool halves = products.sends_beside && stage_rows > 64 && stage_rows % (2 * swizzled_rows) == 0;
  return halves ? stage_rows / 2 : stage_rows;
}

std::int64_t wgmma_stages(const Request& request, const Products& products, const Tiles& tiles, std::int64_t stage_rows,
                          std::int64_t groups) {
  constexpr std::int64_t most = 16;
  constexpr std::int64_t barriers = 1024;
  constexpr std::int64_t padding = 8;  // of a finished tile's rows
  const std::int64_t finished = tiles.m * (tiles.n + padding) * iris::bytes_of(request.problem.result);
  const std::int64_t handed_over = groups > 1 ? wgmma_rows * tiles.n * iris::bytes_of(Dtype::f32) : 0;
  const std::int64_t sent = products.sends_beside ? 2 * wgmma_box_rows(products, stage_rows) * wgmma_row_bytes : 0;
  return std::min(most, (request.target.shared_bytes - barriers - std::max(finished, handed_over) - sent) /
                            ((stage_rows + tiles.n) * wgmma_row_bytes));
}

std::vector<iris::MatrixMap> wgmma_maps(const Request& request, const Products& products, const Tiles& tiles,
                                        std::int64_t box_rows) {
  const int panel_columns = static_cast<int>(depth_of(request.problem, wgmma_depth));
  std::vector<iris::MatrixMap> maps;
  const auto add = [&](std::string_view buffer, const Dimension& rows, const Dimension& columns, std::int64_t box_rows,
                       const std::optional<Dimension>& last_of = {}) {
    maps.push_back({.buffer = std::string(buffer),
                    .dtype = request.problem.dtype,
                    .rows = rows,
                    .columns = columns,
                    .box_rows = static_cast<int>(box_rows),
                    .box_columns = panel_columns,
                    .last_of = last_of});
  };
  const auto add_rows_of_a = [&](std::string_view buffer, const Dimension& rows) {
    add(buffer, rows, {"k"}, box_rows);
    const auto known = static_length(request.problem, products.rows);
    if (!known || iris::rows_of_last_box(box_rows, *known) < box_rows)
      add(buffer, rows, {"k"}, box_rows, products.rows);
  };
  if (!products.rows_together) add_rows_of_a("a", products.a_rows);
  if (request.problem.layout_b == iris::Layout::nk) {
    add("b", products.columns, {"k"}, tiles.n);
  } else {
    add("b", {"k"}, products.columns, tiles.k);
  }
  if (products.by_copy_engine) add_rows_of_a("gathered", {"m"});
  return maps;
}

}  // namespace irisgen
