#include "generator/plan/fast_loops/rows.hpp"

/// AMD: device/main_loop/mfma.hpp.
namespace irisgen {
namespace {

constexpr std::int64_t mfma_depth = 32;
constexpr std::array mfma_tiles = {Tiles{256, 128, mfma_depth, 512, 16}, Tiles{128, 128, mfma_depth, 512, 16},
                                   Tiles{128, 64, mfma_depth, 512, 16}};

/// Sums of f64 take two registers.
std::int64_t mfma_highest(const Problem& problem) {
  return problem.accumulate == Dtype::f64 ? 128 : 256;
}

bool mfma_holds(const Problem& problem, const Products& /*products*/, const Tiles& tiles) {
  return tiles.m <= mfma_highest(problem);
}

/// Elements of 8 bits are moved two at a time.
std::string obstacle_of_pairs(const Request& request) {
  if (request.problem.dtype != Dtype::e4m3) return "";
  if (request.problem.layout_b == iris::Layout::kn) {
    return "they take a B of 8-bit elements as (n,k) only: write layout: {b: nk}";
  }
  const iris::Extent& k = request.problem.extent("k");
  if (known_multiple(k) % 2 == 0) return "";
  if (k.dynamic) return "rows may be of an odd number of 8-bit elements";
  return "rows of " + std::to_string(k.value) + " elements of 8 bits are no multiple of 2";
}

std::string obstacle_to_mfma(const Request& request, const Products& /*products*/) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  if (std::string obstacle = obstacle_of_pairs(request); !obstacle.empty()) return obstacle;
  if (differs(request, "threads", {512})) return "they take blocks of 512 threads";
  const bool wide = mfma_highest(request.problem) == 256;
  if (!wide && differs(request, "tile_m", {128})) return "they take a tile_m of 128 for f64";
  if (differs(request, "tile_m", {128, 256})) return "they take a tile_m of 128 or 256";
  if (differs(request, "tile_n", {64, 128})) return "they take a tile_n of 64 or 128";
  const std::int64_t depth = depth_of(request.problem, mfma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// Assumed: a wave of a smaller tile reads more operands from shared memory for each product, by half and by one and a
/// half, and the first slice of a tile comes from memory while nothing is multiplied.
double mfma_tile_us(const Problem&, const Target& target, const Products&, const Tiles& tiles, double k) {
  const auto& [largest, middle, smallest] = mfma_tiles;
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= largest.m * largest.n ? 1 : elements >= middle.m * middle.n ? 0.85 : 0.65;
  return tile_us(target, tiles, k, share, 2.0);
}

}  // namespace

constinit const FastLoop mfma_loop = {
    .platform = Platform::amd,
    .main_loop = MainLoop::mfma,
    .alone_for = {},
    .tiles = mfma_tiles,
    .of_any_size = 1,  // the largest leaves too few registers for lengths that are no constants
    .comm_blocks = gpu_comm_blocks,
    .sending_blocks = {},
    .obstacle = obstacle_to_mfma,
    .holds = mfma_holds,
    .tile_us = mfma_tile_us,
    .called = "matrix units",
    .reason = "matrix units, fed from two stages in shared memory",
    .of_rows = "such rows are read one element at a time",
    .threads_reason = "two waves for each of a compute unit's matrix units",
    .depth_reason = "16 bytes for each lane of a product"};

}  // namespace irisgen
