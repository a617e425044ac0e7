#include "generator/plan/fast_loops/rows.hpp"

/// sm_90a, f64: device/main_loop/mma.hpp.
namespace irisgen {
namespace {

constexpr std::array mma_dtypes = {Dtype::f64};

/// Measured on an H200, 512 to 4096 deep, of the rate of its matrix units, 67 TFLOP/s. Beyond 2 ms the clock rate
/// falls, and products take 4 to 8 % longer.
constexpr std::array mma_table = {
    WarpTileMeasured{warp_tile(128, 128), 0.94, 3}, WarpTileMeasured{warp_tile(128, 64), 0.89, 1.2},
    WarpTileMeasured{warp_tile(64, 128), 0.91, 1.3}, WarpTileMeasured{warp_tile(64, 64), 0.78, 0}};
constexpr std::array mma_tiles = tiles_in(mma_table);

/// The largest tile leaves no registers for anything but a product of one matrix in memory.
bool mma_holds(const Problem& /*problem*/, const Products& products, const Tiles& tiles) {
  return (is_alone(products) && products.depth_parts == 1) || tiles.m * tiles.n <= 8192;
}

std::string obstacle_to_mma(const Request& request, const Products& products) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  if (std::string obstacle = obstacle_of_warps(request); !obstacle.empty()) return obstacle;
  const Tiles wanted = {request.wanted("tile_m").value_or(0), request.wanted("tile_n").value_or(0), warp_depth, 0, 0};
  if (!mma_holds(request.problem, products, wanted)) {
    return "they take a tile of 128 x 64 or 64 x 128 at most beside other work";
  }
  const std::int64_t depth = depth_of(request.problem, warp_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

double mma_tile_us(const Problem&, const Target& target, const Products&, const Tiles& tiles, double k) {
  const WarpTileMeasured& measured = row_of(mma_table, tiles);
  return tile_us(target, tiles, k, measured.share, measured.between_us);
}

}  // namespace

constinit const FastLoop mma_loop = {
    .platform = Platform::nvidia,
    .main_loop = MainLoop::mma,
    .alone_for = mma_dtypes,
    .tiles = mma_tiles,
    .of_any_size = 1,  // the largest leaves too few registers for lengths that are no constants
    .comm_blocks = 8,  // each of them a whole compute unit
    .sending_blocks = {},
    .obstacle = obstacle_to_mma,
    .holds = mma_holds,
    .tile_us = mma_tile_us,
    .called = "matrix units",
    .reason = "matrix units, fed from four stages in shared memory",
    .of_rows = "such rows are read one element at a time",
    .threads_reason = "two warps for each of a compute unit's matrix units",
    .depth_reason = "four products, 128 bytes"};

}  // namespace irisgen
