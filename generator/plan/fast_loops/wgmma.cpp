#include <algorithm>

#include "generator/plan/fast_loops/rows.hpp"
#include "generator/plan/loop_times.hpp"
#include "generator/plan/wgmma_stages.hpp"

/// sm_90a: device/main_loop/wgmma.hpp.
namespace irisgen {
namespace {

/// More of them bring no more, and disturb the products: measured on four H200s, by 7 to 16 %.
constexpr std::array<std::int64_t, 2> wgmma_sending_blocks = {4, 8};
/// Of the rate of 256 columns and 16 bits, at which tiles multiply. Of 8-bit floats what comes into shared memory is
/// the limit, and a block has no room for wider tiles.
struct WgmmaShares {
  double of_16_bits;
  double of_bytes;
};
/// At depths of 1024 to 8192. Alone narrow tiles were measured in few turns, on an H100, those of 64 rows in one, on an
/// H200; beside links, where operands come later, on H200s, of 8 bits on an H100. Between a tile and the next some time
/// is lost, less where a warp stores a tile's rows in place of copies.
struct WgmmaMeasured {
  Tiles tiles;
  WgmmaShares alone;
  WgmmaShares beside_links;
  double between_copies_us;
  double between_stores_us;
};
constexpr Tiles wgmma_tile(std::int64_t columns, std::int64_t rows = 2 * wgmma_rows) {
  return {rows, columns, wgmma_depth, 384, 16};
}
constexpr std::array wgmma_table = {WgmmaMeasured{wgmma_tile(256), {1, 0}, {1, 0}, 1.5, 1.5},
                                    WgmmaMeasured{wgmma_tile(224), {0.975, 0}, {0.99, 0}, 1.9, 1.9},
                                    WgmmaMeasured{wgmma_tile(192), {0.99, 1.05}, {1, 1.05}, 1.9, 1.9},
                                    WgmmaMeasured{wgmma_tile(160), {0.98, 1.04}, {0.96, 1.01}, 1.9, 1.9},
                                    WgmmaMeasured{wgmma_tile(128), {0.965, 1.02}, {0.95, 0.92}, 2.5, 1.9},
                                    WgmmaMeasured{wgmma_tile(96), {0.94, 0.92}, {0.78, 0.76}, 2.8, 1.6},
                                    WgmmaMeasured{wgmma_tile(64), {0.80, 0.86}, {0.61, 0.61}, 4.5, 1.3},
                                    WgmmaMeasured{wgmma_tile(128, wgmma_rows), {1, 0}, {1, 0}, 2.5, 0.6},
                                    WgmmaMeasured{wgmma_tile(64, wgmma_rows), {0.80, 0.86}, {0.61, 0.61}, 4.5, 0.6}};
constexpr std::array wgmma_tiles = tiles_in(wgmma_table);

/// Tiles of 64 rows, that is. To add up parts of them takes longer than it saves, measured on an H200; beside links
/// nobody has measured them.
bool takes_low_tiles(const Products& products) {
  return is_alone(products) && products.depth_parts == 1;
}

/// Of 8-bit elements each sum takes two registers: one of a stage, one of all; beside tiles that are gone through once
/// more there are fewer; one warpgroup alone, which waits for the products of each stage, takes 1.2 to 1.4 times as
/// long for 128 columns of 64 rows as two for 64 of 128 (an H200). Results of 32 bits take twice the shared memory.
/// Where B is contiguous along n, copies bring panels of 64 columns.
bool wgmma_holds(const Problem& problem, const Products& products, const Tiles& tiles) {
  const bool low = tiles.m == wgmma_rows;
  if (low && !takes_low_tiles(products)) return false;
  const bool in_panels = problem.layout_b == iris::Layout::kn;
  const int bytes = iris::bytes_of(problem.dtype);
  const std::int64_t widest_of_bytes = low ? 64 : products.completes_tiles ? 128 : 192;
  return tiles.n <= (bytes == 1 ? widest_of_bytes : bytes == 2 ? 256 : 128) && (!in_panels || tiles.n % 64 == 0);
}

/// Unless `config:` asks for them. Beside copy engines widths below 128 take 6 to 26 % longer than those of 128 on four
/// H100s. Tiles of one warpgroup's rows are made in one turn: two of 64 x 128 took 47 µs on an H200 where one of 128 x
/// 96 took 34.
bool wgmma_suits(const Request& request, const Products& products, const Tiles& tiles) {
  constexpr std::int64_t narrowest_beside_copies = 128;
  const bool is_wide = !products.by_copy_engine || tiles.n >= narrowest_beside_copies;
  const auto count = tiles_of(request.typical(), products, tiles.m, tiles.n);
  const bool in_one_turn = tiles.m > wgmma_rows || !count || *count <= request.target.compute_units;
  return (is_wide || request.wanted("tile_n")) && (in_one_turn || request.wanted("tile_m"));
}

/// Of tiles of so many rows.
std::string wgmma_widths(const Problem& problem, const Products& products, std::int64_t rows) {
  const auto lower = std::ranges::find(wgmma_tiles, wgmma_rows, &Tiles::m);
  const std::span<const Tiles> tiles =
      rows == wgmma_rows ? std::span(lower, wgmma_tiles.end()) : std::span(wgmma_tiles.begin(), lower);
  const int bytes = iris::bytes_of(problem.dtype);
  return alternatives(problem, products, tiles, wgmma_holds, [](const Tiles& each) { return std::to_string(each.n); }) +
         (rows == wgmma_rows                     ? " for a tile_m of " + std::to_string(rows)
          : bytes != 2                           ? " for elements of " + std::to_string(8 * bytes) + " bits"
          : problem.layout_b == iris::Layout::kn ? " for a B as (k,n)"
                                                 : "");
}

std::string obstacle_to_wgmma(const Request& request, const Products& products) {
  const Problem& problem = request.problem;
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  const std::string bits = std::to_string(8 * iris::bytes_of(problem.dtype));
  const bool of_16_bits = bits == "16";
  if (!of_16_bits && problem.layout_b == iris::Layout::kn) {
    return "they take a B of " + bits + "-bit elements as (n,k) only: write layout: {b: nk}";
  }
  if (std::string obstacle = obstacle_of_rows(problem, products); !obstacle.empty()) return obstacle;
  for (const Dimension& columns : {Dimension{"k"}, products.columns}) {
    if (static_length(problem, columns) == 0) return columns.extent + " is 0";
  }
  if (products.depth_parts > 1 && !static_length(problem, {"k"})) return "k may have fewer slices than parts";
  const Dimension gathered = products.by_copy_engine ? Dimension{"m"} : products.a_rows;
  for (const Dimension& rows : {products.a_rows, gathered, products.columns}) {
    if (static_length(problem, rows).value_or(0) > INT32_MAX) return rows.extent + " is over 2^31";
  }
  if (differs(request, "threads", {384})) return "they take blocks of 384 threads";
  const bool low = takes_low_tiles(products);
  if (low && differs(request, "tile_m", {128, 64})) return "they take a tile_m of 128 or 64";
  if (!low && differs(request, "tile_m", {128})) return "they take a tile_m of 128";
  const bool has_width = std::ranges::any_of(
      wgmma_tiles, [&](const Tiles& tiles) { return wgmma_holds(problem, products, tiles) && allows(request, tiles); });
  const std::int64_t rows = request.wanted("tile_m").value_or(2 * wgmma_rows);
  if (!has_width) return "they take a tile_n of " + wgmma_widths(problem, products, rows);
  const std::int64_t depth = depth_of(problem, wgmma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// As device/main_loop/wgmma_layout.hpp has it.
bool multiplies_columns(const Problem& problem, const Products& products, const Tiles& tiles) {
  const bool of_16_bits = iris::bytes_of(problem.dtype) == 2 && iris::bytes_of(problem.result) == 2;
  return tiles.n == 64 && problem.layout_b == iris::Layout::nk && of_16_bits && products.depth_parts == 1 &&
         wgmma_stage_rows(tiles.m, static_length(problem, products.rows)) == 2 * wgmma_rows;
}

/// Of stages for one warpgroup, as fast as they come: one thread asks for them, and one port of the compute unit brings
/// them.
double arriving_us(const Problem& problem, const Products& products, const Tiles& tiles, double k) {
  constexpr double stage_us = 0.124;  // measured on an H100
  constexpr double port_gbs = 123;    // measured on an H200, of all compute units at once
  const double lines = average_length(problem, products.rows, tiles.m) + static_cast<double>(tiles.n);
  const double bytes = lines * static_cast<double>(wgmma_row_bytes);
  return k / static_cast<double>(wgmma_depth) * std::max(stage_us, bytes / port_gbs / 1e3);
}

/// Whether nothing crosses links while tiles are made: what leaves does so behind them where they are made in one turn.
bool leaves_links_alone(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles) {
  if (is_alone(products)) return true;
  const auto count = tiles_of(problem, products, tiles.m, tiles.n);
  return products.sent_bytes == 0 && count && *count <= target.compute_units;
}

double wgmma_tile_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles,
                     double k) {
  const WgmmaMeasured& row = row_of(wgmma_table, tiles);
  const bool undisturbed = leaves_links_alone(problem, target, products, tiles);
  const WgmmaShares& shares = undisturbed ? row.alone : row.beside_links;
  const double share_of_columns = undisturbed ? 0.88 : 0.67;  // measured on an H100, and on two
  const double share = multiplies_columns(problem, products, tiles) ? share_of_columns
                       : iris::bytes_of(problem.dtype) == 1         ? shares.of_bytes
                                                                    : shares.of_16_bits;
  const bool stored = products.shipped_bytes == 0;
  const double between_us = stored ? row.between_stores_us : row.between_copies_us;
  const std::int64_t stage_rows = wgmma_stage_rows(tiles.m, static_length(problem, products.rows));
  if (stage_rows > wgmma_rows || !target.measured) return tile_us(target, tiles, k, share, between_us);
  Tiles of_one = tiles;
  of_one.m = wgmma_rows;
  return std::max(arriving_us(problem, products, tiles, k), tile_us(target, of_one, k, share, 0)) + between_us;
}

}  // namespace

constinit const FastLoop wgmma_loop = {
    .platform = Platform::nvidia,
    .main_loop = MainLoop::wgmma,
    .alone_for = {},
    .tiles = wgmma_tiles,
    .of_any_size = 0,
    .comm_blocks = 8,  // each of them a whole compute unit
    .sending_blocks = wgmma_sending_blocks,
    .obstacle = obstacle_to_wgmma,
    .holds = wgmma_holds,
    .suits = wgmma_suits,
    .tile_us = wgmma_tile_us,
    .called = "matrix units",
    .reason = "matrix units, fed by tensor copies",
    .of_rows = "",
    .threads_reason = "a warpgroup that moves data, two for products and what becomes of them",
    .depth_reason = "128 bytes, a row of shared memory",
    .otherwise = &mma_packed_loop};

}  // namespace irisgen
