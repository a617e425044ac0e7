#include "generator/plan/matrix_units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>

namespace irisgen {

std::int64_t compute_units_of_copies(const Target& target, const Products& products) {
  return products.by_copy_engine && target.platform == Platform::amd ? 1 : 0;
}

/// Of all products together; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n) {
  const auto rows = static_length(problem, products.rows);
  const auto columns = static_length(problem, products.columns);
  if (!rows || !columns || !problem.is_static()) return std::nullopt;
  return products.count * divide_up(*rows, tile_m) * divide_up(*columns, tile_n) * products.depth_parts;
}

namespace {

// --- Matrix units. Each platform has one main loop for them; the functions say why it cannot be taken (nothing if it
// --- can), and how long one block takes for one tile, k deep.

/// How much faster than operands of 16 bits these are multiplied; 0 if matrix units do not take them.
double speed_of(const Target& target, Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
      return 1;
    case Dtype::e4m3:
      return target.matrix_speeds.e4m3;
    case Dtype::tf32:
      return target.matrix_speeds.tf32;
    case Dtype::f32:
      return target.matrix_speeds.f32;
    case Dtype::f64:
      return target.matrix_speeds.f64;
    case Dtype::i32:
      break;
  }
  return 0;
}

std::string obstacle_of_types(const Request& request) {
  const Problem& problem = request.problem;
  if (speed_of(request.target, problem.dtype) == 0) {
    if (problem.dtype == Dtype::f32) return "they would round f32 to tf32: write dtype: tf32 where that will do";
    return "they take no " + std::string(to_string(problem.dtype));
  }
  const Dtype sums = iris::default_accumulate(problem.dtype);
  return problem.accumulate == sums ? "" : "sums are not in " + std::string(to_string(sums));
}

/// How deep tiles are that are so deep with elements of 16 bits.
std::int64_t depth_of(const Problem& problem, std::int64_t of_16_bits) {
  return of_16_bits * 2 / iris::bytes_of(problem.dtype);
}

/// Why rows of A or B may not be read 16 bytes at a time; empty if they are.
std::string obstacle_of_rows(const Problem& problem, const Products& products) {
  std::vector<Dimension> contiguous = {{"k"}};
  if (problem.layout_b == iris::Layout::kn) contiguous.push_back(products.columns);
  for (const Dimension& columns : contiguous) {
    const auto length = static_length(problem, columns);
    if (!length) return "rows of " + columns.extent + " elements may be no multiple of 16 bytes";
    if (*length * iris::bytes_of(problem.dtype) % access_bytes != 0) {
      return "rows of " + std::to_string(*length) + " elements are no multiple of 16 bytes";
    }
  }
  return "";
}

/// Whether the user has set `key` to none of these.
bool differs(const Request& request, const char* key, std::initializer_list<std::int64_t> values) {
  const auto wanted = request.wanted(key);
  return wanted && std::ranges::find(values, *wanted) == values.end();
}

double tile_us(const Target& target, const Tiles& tiles, double k, double share_of_rate, double between_us) {
  const double flops = 2.0 * static_cast<double>(tiles.m * tiles.n) * k;
  return flops / (target.matrix_burst_tflops / target.compute_units * share_of_rate) / 1e6 + between_us;
}

// sm_90a: device/main_loop/wgmma.hpp.

constexpr std::array<std::int64_t, 3> wgmma_sending_blocks = {4, 8, 16};
constexpr std::int64_t wgmma_depth = 64;  // 128 bytes
constexpr std::array wgmma_tiles = {Tiles{128, 256, wgmma_depth, 384, 16}, Tiles{128, 192, wgmma_depth, 384, 16},
                                    Tiles{128, 128, wgmma_depth, 384, 16}, Tiles{128, 64, wgmma_depth, 384, 16}};

/// Of 8-bit elements each sum takes two registers: one of a stage, one of all. Results of 32 bits take twice the shared
/// memory.
std::int64_t wgmma_widest(const Problem& problem) {
  return iris::bytes_of(problem.dtype) == 2 ? 256 : 128;
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
  const Dimension gathered = products.by_copy_engine ? Dimension{"m"} : products.a_rows;
  for (const Dimension& rows : {products.a_rows, gathered, products.columns}) {
    if (static_length(problem, rows).value_or(0) > INT32_MAX) return rows.extent + " is over 2^31";
  }
  if (differs(request, "threads", {384})) return "they take blocks of 384 threads";
  if (differs(request, "tile_m", {128})) return "they take a tile_m of 128";
  if (!of_16_bits && differs(request, "tile_n", {64, 128})) {
    return "they take a tile_n of 64 or 128 for elements of " + bits + " bits";
  }
  if (differs(request, "tile_n", {64, 128, 192, 256})) return "they take a tile_n of 64, 128, 192 or 256";
  const std::int64_t depth = depth_of(problem, wgmma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// Measured on an H200, at depths of 1024 to 8192: narrow tiles multiply at a share of the rate of 256 columns, and
/// between a tile and the next some time is lost, less where a warp stores a tile's rows in place of copies.
double wgmma_tile_us(const Target& target, const Products& products, const Tiles& tiles, double k) {
  struct Measured {
    std::int64_t tile_n;
    double share;
    double between_copies_us;
    double between_stores_us;
  };
  constexpr std::array table = {Measured{256, 1, 1.5, 1.5}, Measured{192, 0.96, 1.9, 1.9},
                                Measured{128, 0.95, 2.5, 1.9}, Measured{64, 0.61, 3.0, 1.3}};
  const Measured& row = *std::ranges::find(table, tiles.n, &Measured::tile_n);
  const bool stored = products.shipped_bytes == 0 && products.depth_parts == 1;
  return tile_us(target, tiles, k, row.share, stored ? row.between_stores_us : row.between_copies_us);
}

/// How much longer products take beside blocks that move data, measured there too: narrow tiles read more operands, for
/// which those that come from other ranks compete.
double longer_beside_blocks(const Products& products, const Tiles& tiles) {
  if (products.sent_bytes == 0 || tiles.n == 256) return 1.02;
  return tiles.n == 192 ? 1.10 : 1.45;
}

// AMD: device/main_loop/mfma.hpp.

constexpr std::int64_t mfma_depth = 32;
constexpr std::array mfma_tiles = {Tiles{256, 128, mfma_depth, 512, 16}, Tiles{128, 128, mfma_depth, 512, 16},
                                   Tiles{128, 64, mfma_depth, 512, 16}};

/// Sums of f64 take two registers.
std::int64_t mfma_highest(const Problem& problem) {
  return problem.accumulate == Dtype::f64 ? 128 : 256;
}

/// Elements of 8 bits are moved two at a time.
std::string obstacle_of_pairs(const Request& request) {
  if (request.problem.dtype != Dtype::e4m3) return "";
  if (request.problem.layout_b == iris::Layout::kn) {
    return "they take a B of 8-bit elements as (n,k) only: write layout: {b: nk}";
  }
  const auto k = static_length(request.problem, {"k"});
  if (!k) return "rows may be of an odd number of 8-bit elements";
  return *k % 2 == 0 ? "" : "rows of " + std::to_string(*k) + " elements of 8 bits are no multiple of 2";
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
double mfma_tile_us(const Target& target, const Products&, const Tiles& tiles, double k) {
  const auto& [largest, middle, smallest] = mfma_tiles;
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= largest.m * largest.n ? 1 : elements >= middle.m * middle.n ? 0.85 : 0.65;
  return tile_us(target, tiles, k, share, 2.0);
}

// sm_90a, f64: device/main_loop/mma.hpp.

constexpr std::array mma_dtypes = {Dtype::f64};
constexpr std::int64_t mma_depth = 64;  // 128 bytes
constexpr std::array mma_tiles = {Tiles{128, 128, mma_depth, 256, 16}, Tiles{128, 64, mma_depth, 256, 16},
                                  Tiles{64, 128, mma_depth, 256, 16}, Tiles{64, 64, mma_depth, 256, 16}};

/// The largest tile leaves no registers for anything but a product of one matrix in memory.
bool mma_fits(const Products& products, std::int64_t tile_m, std::int64_t tile_n) {
  const bool is_alone = products.count == 1 && !products.gathers_rows && !products.moves_by_blocks &&
                        !products.sends_beside && !products.completes_tiles && products.parts == 1 &&
                        products.depth_parts == 1;
  return is_alone || tile_m * tile_n <= 8192;
}

std::string obstacle_to_mma(const Request& request, const Products& products) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  // Unasked not yet: a few registers of its tiles are in local memory, and no GPU has run it.
  if (!request.wanted("threads")) return "they take blocks of 256 threads, which config names where they are wanted";
  if (differs(request, "threads", {256})) return "they take blocks of 256 threads";
  if (differs(request, "tile_m", {64, 128})) return "they take a tile_m of 64 or 128";
  if (differs(request, "tile_n", {64, 128})) return "they take a tile_n of 64 or 128";
  if (!mma_fits(products, request.wanted("tile_m").value_or(0), request.wanted("tile_n").value_or(0))) {
    return "they take a tile of 128 x 64 or 64 x 128 at most beside other work";
  }
  const std::int64_t depth = depth_of(request.problem, mma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// Assumed, as on AMD.
double mma_tile_us(const Target& target, const Products& /*products*/, const Tiles& tiles, double k) {
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= 16384 ? 0.9 : elements >= 8192 ? 0.8 : 0.65;
  return tile_us(target, tiles, k, share, 2.0);
}

constexpr std::array matrix_units = {
    MatrixUnits{.platform = Platform::nvidia,
                .loop = MainLoop::mma,
                .alone_for = mma_dtypes,
                .tiles = mma_tiles,
                .of_any_size = 1,  // the largest leaves too few registers for lengths that are no constants
                .comm_blocks = 8,  // each of them a whole compute unit
                .sending_blocks = {},
                .obstacle = obstacle_to_mma,
                .tile_us = mma_tile_us,
                .reason = "matrix units, fed from four stages in shared memory",
                .threads_reason = "two warps for each of a compute unit's matrix units",
                .depth_reason = "two products, 128 bytes"},
    MatrixUnits{.platform = Platform::nvidia,
                .loop = MainLoop::wgmma,
                .alone_for = {},
                .tiles = wgmma_tiles,
                .of_any_size = 0,
                .comm_blocks = 8,  // each of them a whole compute unit
                .sending_blocks = wgmma_sending_blocks,
                .obstacle = obstacle_to_wgmma,
                .tile_us = wgmma_tile_us,
                .reason = "matrix units, fed by tensor copies",
                .threads_reason = "a warpgroup that moves data, two that multiply",
                .depth_reason = "128 bytes, a row of shared memory"},
    MatrixUnits{.platform = Platform::amd,
                .loop = MainLoop::mfma,
                .alone_for = {},
                .tiles = mfma_tiles,
                .of_any_size = 1,  // the largest leaves too few registers for lengths that are no constants
                .comm_blocks = gpu_comm_blocks,
                .sending_blocks = {},
                .obstacle = obstacle_to_mfma,
                .tile_us = mfma_tile_us,
                .reason = "matrix units, fed from two stages in shared memory",
                .threads_reason = "two waves for each of a compute unit's matrix units",
                .depth_reason = "16 bytes for each lane of a product"},
};

/// Those of the tiles that `config:` allows; at least one. Threads that go through finished tiles divide their rows
/// evenly if these are a power of two.
std::vector<Tiles> allowed_tiles(const MatrixUnits& units, const Request& request, const Products& products) {
  std::vector<Tiles> allowed;
  for (Tiles tiles : units.tiles) {
    tiles.k = depth_of(request.problem, tiles.k);
    const bool even = std::has_single_bit(static_cast<std::uint64_t>(tiles.n));
    if (products.completes_tiles && !even && !request.wanted("tile_n")) continue;
    if (units.loop == MainLoop::wgmma && tiles.n > wgmma_widest(request.problem)) continue;
    if (units.loop == MainLoop::mfma && tiles.m > mfma_highest(request.problem)) continue;
    if (units.loop == MainLoop::mma && !mma_fits(products, tiles.m, tiles.n)) continue;
    if (request.wanted("tile_m").value_or(tiles.m) == tiles.m &&
        request.wanted("tile_n").value_or(tiles.n) == tiles.n) {
      allowed.push_back(tiles);
    }
  }
  if (!allowed.empty()) return allowed;
  Tiles tiles = units.tiles[units.of_any_size];
  tiles.k = depth_of(request.problem, tiles.k);
  tiles.m = request.wanted("tile_m").value_or(tiles.m);
  tiles.n = request.wanted("tile_n").value_or(tiles.n);
  return {tiles};
}

}  // namespace

const MatrixUnits* matrix_units_of(const Target& target, Dtype dtype) {
  const auto* found = std::ranges::find_if(matrix_units, [&](const MatrixUnits& units) {
    const bool takes = units.alone_for.empty() || std::ranges::find(units.alone_for, dtype) != units.alone_for.end();
    return units.platform == target.platform && takes;
  });
  return found == matrix_units.end() ? nullptr : found;
}

double adding_us(const Problem& problem, const Products& products, const Tiles& tiles) {
  if (products.depth_parts == 1) return 0;
  constexpr double block_gbs = 26;  // measured on an H200, with this
  constexpr double waiting_us = 1;
  const double rows = std::min(static_cast<double>(tiles.m), length(problem, products.rows.extent));
  const double bytes = rows * static_cast<double>(tiles.n * iris::bytes_of(problem.accumulate));
  return waiting_us + 2 * bytes / block_gbs / 1e3;
}

double turns_us(const Problem& problem, const Target& target, const Products& products, std::int64_t turns,
                const Tiles& tiles) {
  const double k = length(problem, "k") / speed_of(target, problem.dtype);
  const double flops = 2.0 * products.count * static_cast<double>(static_length(problem, products.rows).value()) *
                       static_cast<double>(static_length(problem, products.columns).value()) * k;
  const double sustained_us = flops / target.matrix_tflops / 1e6;
  const double depth = k / static_cast<double>(products.depth_parts);
  const double tile_us = matrix_units_of(target, problem.dtype)->tile_us(target, products, tiles, depth) +
                         adding_us(problem, products, tiles);
  return std::max(sustained_us, static_cast<double>(turns) * tile_us);
}

double with_links(const Problem& problem, const Target& target, const Products& products, std::int64_t comm_blocks,
                  std::int64_t blocks, const Tiles& tiles, double multiply_us) {
  constexpr double block_gbs = 34;  // beside products
  if (products.shipped_bytes == 0 && products.sent_bytes == 0) return multiply_us;
  const MatrixUnits& units = *matrix_units_of(target, problem.dtype);
  if (products.moves_by_blocks && units.loop == MainLoop::wgmma) multiply_us *= longer_beside_blocks(products, tiles);
  const double tile_us = units.tile_us(target, products, tiles, length(problem, "k") / speed_of(target, problem.dtype));
  if (products.sent_bytes == 0)
    return std::max(multiply_us, tile_us + products.shipped_bytes / target.rates.link_gbs / 1e3);
  if (products.sends_beside && units.loop != MainLoop::wgmma) return multiply_us;  // they have been sent before
  // Measured on two H200s: what sends and what multiplies in one block slow each other down.
  constexpr double share_of_links = 0.75;
  constexpr double block_gbs_beside = 4;
  constexpr double longer = 1.08;
  if (products.sends_beside) multiply_us *= longer;
  const double rate =
      products.by_copy_engine ? target.rates.copy_engine_gbs
      : products.sends_beside
          ? std::min(target.rates.link_gbs * share_of_links, static_cast<double>(blocks) * block_gbs_beside)
          : std::min(target.rates.link_gbs, static_cast<double>(comm_blocks) * block_gbs);
  const double link_us = products.sent_bytes / rate / 1e3 + static_cast<double>(products.copies) * target.rates.copy_us;
  const double own_tiles = static_cast<double>(tiles_of(problem, products, tiles.m, tiles.n).value()) / products.count;
  const double without_own = std::max(0.0, 1 - own_tiles / static_cast<double>(blocks));
  // Measured on four H200s: where copies are late for the first turn, they are so for the next.
  const double waiting = products.by_copy_engine && without_own > 0 ? 1 : without_own;
  return std::max(multiply_us + waiting * link_us, link_us + tile_us);
}

std::int64_t wgmma_stride(std::int64_t tile_n) {
  constexpr std::int64_t padding = 8;
  return tile_n + padding;
}

namespace {
constexpr std::int64_t swizzled_rows = 8;  // together
}

std::int64_t wgmma_stage_rows(const Request& request, const Products& products, std::int64_t tile_m) {
  const auto rows = static_length(request.problem, products.rows);
  if (!rows) return tile_m;
  return std::min(tile_m, std::max(swizzled_rows, divide_up(*rows, swizzled_rows) * swizzled_rows));
}

std::int64_t wgmma_box_rows(const Products& products, std::int64_t stage_rows) {
  const bool halves = products.sends_beside && stage_rows > 64 && stage_rows % (2 * swizzled_rows) == 0;
  return halves ? stage_rows / 2 : stage_rows;
}

std::int64_t wgmma_stages(const Request& request, const Products& products, std::int64_t stage_rows,
                          std::int64_t tile_n) {
  constexpr std::int64_t most = 16;
  constexpr std::int64_t row_bytes = 128;
  constexpr std::int64_t tile_m = 128;
  constexpr std::int64_t barriers = 1024;
  const std::int64_t finished = tile_m * wgmma_stride(tile_n) * iris::bytes_of(request.problem.result);
  const std::int64_t sent = products.sends_beside ? 2 * wgmma_box_rows(products, stage_rows) * row_bytes : 0;
  return std::min(most,
                  (request.target.shared_bytes - barriers - finished - sent) / ((stage_rows + tile_n) * row_bytes));
}

std::vector<iris::MatrixMap> wgmma_maps(const Request& request, const Products& products, const Tiles& tiles,
                                        std::int64_t box_rows) {
  const int panel_columns = static_cast<int>(depth_of(request.problem, wgmma_depth));
  std::vector<iris::MatrixMap> maps;
  const auto add = [&](std::string_view buffer, const Dimension& rows, const Dimension& columns,
                       std::int64_t box_rows) {
    maps.push_back({.buffer = std::string(buffer),
                    .dtype = request.problem.dtype,
                    .rows = rows,
                    .columns = columns,
                    .box_rows = static_cast<int>(box_rows),
                    .box_columns = panel_columns});
  };
  add("a", products.a_rows, {"k"}, box_rows);
  if (request.problem.layout_b == iris::Layout::nk) {
    add("b", products.columns, {"k"}, tiles.n);
  } else {
    add("b", {"k"}, products.columns, tiles.k);
  }
  if (products.by_copy_engine) add("gathered", {"m"}, {"k"}, box_rows);
  return maps;
}

std::string units_reason(const MatrixUnits& units, const Request& request, const Products& products) {
  const std::string slowly = obstacle_of_rows(request.problem, products);
  const bool fnuz = request.problem.dtype == Dtype::e4m3 && request.target.matrix_e4m3 == MatrixE4m3::fnuz;
  return std::string(units.reason) +
         (fnuz ? "; whose 8-bit floats have another bias: zeros and NaNs are changed on the way, sums are quadrupled"
               : "") +
         (slowly.empty() ? "" : "; " + slowly + "; such rows are read one element at a time");
}

namespace {

/// The problem that tiles are chosen for: of unknown rows it has few, where blocks share tiles.
Problem to_choose_for(const Problem& problem, const Products& products) {
  constexpr std::int64_t few_rows = 64;
  Problem known = problem;
  for (iris::NamedExtent& extent : known.extents) {
    if (products.depth_parts > 1 && extent.name == products.rows.extent && extent.extent.dynamic)
      extent.extent = {.value = few_rows};
  }
  return known;
}

}  // namespace

UnitsChoice choose_for(const MatrixUnits& units, const Request& request, const Products& products) {
  const Problem problem = to_choose_for(request.problem, products);
  const std::int64_t compute_units = request.target.compute_units - compute_units_of_copies(request.target, products);
  const std::int64_t blocks = std::min<std::int64_t>(compute_units, request.wanted("blocks").value_or(compute_units));
  const std::int64_t usual = std::min<std::int64_t>(units.comm_blocks, std::max<std::int64_t>(1, blocks / 2));
  const bool free = products.sent_bytes > 0 && products.moves_by_blocks && !request.wanted("comm_blocks") &&
                    !request.wanted("blocks");
  std::vector<std::int64_t> all_comm_blocks = {request.wanted("comm_blocks").value_or(usual)};
  if (free && !units.sending_blocks.empty()) {
    all_comm_blocks.assign(units.sending_blocks.begin(), units.sending_blocks.end());
  }
  const std::vector<Tiles> all_tiles = allowed_tiles(units, request, products);
  UnitsChoice best{all_tiles[std::min(units.of_any_size, all_tiles.size() - 1)],
                   request.wanted("comm_blocks").value_or(usual), unknown_turns, 0};
  if (!problem.is_static()) return best;
  // Of nearly equal times, the one with less to multiply, then that with more communication blocks, which cost nothing.
  constexpr double share_of_product = 0.05;
  constexpr double never = std::numeric_limits<double>::infinity();
  std::tuple<double, double, std::int64_t> best_time = {never, never, 0};
  for (const Tiles& tiles : all_tiles) {
    const std::int64_t count = tiles_of(problem, products, tiles.m, tiles.n).value();
    for (const std::int64_t comm_blocks : all_comm_blocks) {
      const std::int64_t multiplying = std::max<std::int64_t>(1, blocks - (products.moves_by_blocks ? comm_blocks : 0));
      const std::int64_t turns = divide_up(count, multiplying);
      const double multiply_us = turns_us(problem, request.target, products, turns, tiles);
      const double us = with_links(problem, request.target, products, comm_blocks, multiplying, tiles, multiply_us);
      const std::tuple time = {us + share_of_product * multiply_us, multiply_us, -comm_blocks};
      if (time >= best_time) continue;
      best_time = time;
      best = {tiles, comm_blocks, turns, us};
    }
  }
  return best;
}

std::string turns_text(std::int64_t turns) {
  if (turns == unknown_turns) return "suits sizes that are known only at launch";
  return std::to_string(turns) + (turns == 1 ? " turn" : " turns") + " of the compute units";
}

}  // namespace irisgen
