#include <numeric>
#include <optional>

#include "generator/plan/fast_loops/rows.hpp"

/// sm_90a, elements of 8 and 16 bits whose rows begin anywhere: device/main_loop/mma_packed.hpp.
namespace irisgen {
namespace {

/// Measured on an H200, 1028 to 4100 deep: of the tile's rate with copies of 8 bytes, and how much of that rate is left
/// with copies of 4 and of 2, which pass through registers. Those of 16 are taken to be no faster than those of 8.
constexpr std::array packed_table = {
    WarpTileMeasured{warp_tile(128, 128), 0.39, 4.5}, WarpTileMeasured{warp_tile(128, 64), 0.28, 2},
    WarpTileMeasured{warp_tile(64, 128), 0.28, 2}, WarpTileMeasured{warp_tile(64, 64), 0.2, 1}};
constexpr std::array packed_tiles = tiles_in(packed_table);

double share_of_copies(std::int64_t bytes) {
  return bytes >= 8 ? 1 : bytes == 4 ? 0.77 : 0.42;
}

/// That are copied at once: as many as all rows of both operands are a multiple of; nothing where one is not known.
std::optional<std::int64_t> copied_bytes(const Problem& problem, const Products& products) {
  const auto k = static_length(problem, {"k"});
  const auto of_b = problem.layout_b == iris::Layout::kn ? static_length(problem, products.columns) : k;
  if (!k || !of_b) return std::nullopt;
  return std::gcd(access_bytes, std::gcd(*k, *of_b) * iris::bytes_of(problem.dtype));
}

/// A kernel of rows of any length holds loops for all copies, and beside other work, in parts of tiles, or with
/// elements that are widened, the largest tile leaves too few registers for them.
bool packed_holds(const Problem& problem, const Products& products, const Tiles& tiles) {
  const bool has_registers = is_alone(products) && products.depth_parts == 1 && problem.dtype != Dtype::e4m3;
  return tiles.m * tiles.n <= 8192 || has_registers || copied_bytes(problem, products).has_value();
}

std::string obstacle_to_packed(const Request& request, const Products& products) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  if (request.problem.dtype == Dtype::tf32) return "they take no tf32";
  if (request.problem.dtype == Dtype::e4m3 && request.problem.layout_b == iris::Layout::kn) {
    return "they take a B of 8-bit elements as (n,k) only: write layout: {b: nk}";
  }
  if (std::string obstacle = obstacle_of_warps(request); !obstacle.empty()) return obstacle;
  const Tiles wanted = {request.wanted("tile_m").value_or(0), request.wanted("tile_n").value_or(0), warp_depth, 0, 0};
  if (!packed_holds(request.problem, products, wanted)) {
    return "of lengths that are known only at launch they take a tile of 128 x 64 or 64 x 128 at most";
  }
  const std::int64_t depth = depth_of(request.problem, warp_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

double packed_tile_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles,
                      double k) {
  // Products of whole warps are of 16 bits: those of 8 are widened.
  const double speed = problem.dtype == Dtype::e4m3 ? 1 / speed_of(target, problem.dtype) : 1;
  const WarpTileMeasured& measured = row_of(packed_table, tiles);
  const double share = measured.share * share_of_copies(copied_bytes(problem, products).value_or(access_bytes));
  return tile_us(target, tiles, k, share * speed, measured.between_us);
}

}  // namespace

constinit const FastLoop mma_packed_loop = {
    .platform = Platform::nvidia,
    .main_loop = MainLoop::mma_packed,
    .alone_for = {},
    .tiles = packed_tiles,
    .of_any_size = 0,
    .comm_blocks = 8,  // each of them a whole compute unit
    .sending_blocks = {},
    .obstacle = obstacle_to_packed,
    .holds = packed_holds,
    .tile_us = packed_tile_us,
    .called = "without tensor copies",
    .reason = "matrix units, fed from four stages in shared memory; no tensor copies",
    .of_rows = "such rows are shifted into place on their way",
    .threads_reason = "two warps for each of a compute unit's matrix units",
    .depth_reason = "128 bytes, a row of shared memory"};

}  // namespace irisgen
