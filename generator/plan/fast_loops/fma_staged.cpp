#include "generator/plan/fast_loops/rows.hpp"

/// sm_90a, f32: device/main_loop/fma_staged.hpp.
namespace irisgen {
namespace {

constexpr std::array fma_staged_dtypes = {Dtype::f32};
constexpr std::int64_t fma_staged_depth = 32;  // 16 of f32
/// Measured on an H100, 4096 deep, of B as (k,n) and as (n,k); few rows wait for memory.
struct FmaStagedMeasured {
  Tiles tiles;
  double share_kn;
  double share_nk;
};
constexpr Tiles fma_staged_tile(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, fma_staged_depth, 256, 16};
}
constexpr std::array fma_staged_table = {
    FmaStagedMeasured{fma_staged_tile(256, 128), 0.88, 0.84}, FmaStagedMeasured{fma_staged_tile(128, 256), 0.88, 0.84},
    FmaStagedMeasured{fma_staged_tile(128, 128), 0.82, 0.78}, FmaStagedMeasured{fma_staged_tile(64, 128), 0.73, 0.65},
    FmaStagedMeasured{fma_staged_tile(128, 64), 0.68, 0.65},  FmaStagedMeasured{fma_staged_tile(64, 64), 0.52, 0.49},
    FmaStagedMeasured{fma_staged_tile(32, 256), 0.68, 0.53},  FmaStagedMeasured{fma_staged_tile(16, 256), 0.41, 0.30},
    FmaStagedMeasured{fma_staged_tile(16, 128), 0.37, 0.28}};
constexpr std::array fma_staged_tiles = tiles_in(fma_staged_table);

/// The largest tiles leave too few registers for anything but a product of one matrix in memory.
bool fma_staged_holds(const Problem& /*problem*/, const Products& products, const Tiles& tiles) {
  return is_alone(products) || tiles.m * tiles.n <= 16384;
}

std::string obstacle_to_fma_staged(const Request& request, const Products& products) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  if (differs(request, "threads", {256})) return "they take blocks of 256 threads";
  const bool has_tile = std::ranges::any_of(fma_staged_tiles, [&](const Tiles& tiles) {
    return fma_staged_holds(request.problem, products, tiles) && allows(request, tiles);
  });
  if (!has_tile) {
    const auto size = [](const Tiles& tiles) { return std::to_string(tiles.m) + " x " + std::to_string(tiles.n); };
    return "they take tiles of " + alternatives(request.problem, products, fma_staged_tiles, fma_staged_holds, size) +
           (is_alone(products) ? "" : " beside other work");
  }
  const std::int64_t depth = depth_of(request.problem, fma_staged_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

double fma_staged_tile_us(const Problem& problem, const Target& target, const Products&, const Tiles& tiles, double k) {
  const FmaStagedMeasured& row = row_of(fma_staged_table, tiles);
  return tile_us(target, tiles, k, problem.layout_b == iris::Layout::nk ? row.share_nk : row.share_kn, 2.0);
}

}  // namespace

constinit const FastLoop fma_staged_loop = {
    .platform = Platform::nvidia,
    .main_loop = MainLoop::fma_staged,
    .alone_for = fma_staged_dtypes,
    .tiles = fma_staged_tiles,
    .of_any_size = 2,
    .comm_blocks = 8,  // each of them a whole compute unit
    .sending_blocks = {},
    .obstacle = obstacle_to_fma_staged,
    .holds = fma_staged_holds,
    .tile_us = fma_staged_tile_us,
    .called = "stages in shared memory",
    .reason =
        "multiply-adds, fed from four stages in shared memory: matrix units would round f32 to tf32, "
        "which has a dtype of its own",
    .of_rows = "",
    .threads_reason = "two warps for each of a compute unit's schedulers",
    .depth_reason = "64 bytes"};

}  // namespace irisgen
