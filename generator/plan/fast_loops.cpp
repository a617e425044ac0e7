#include "generator/plan/fast_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/plan/wgmma_stages.hpp"

namespace irisgen {

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

bool allows(const Request& request, const Tiles& tiles) {
  return request.wanted("tile_m").value_or(tiles.m) == tiles.m && request.wanted("tile_n").value_or(tiles.n) == tiles.n;
}

std::int64_t depth_of(const Problem& problem, std::int64_t of_16_bits) {
  return of_16_bits * 2 / iris::bytes_of(problem.dtype);
}

namespace {

// --- Of each main loop: why it cannot be taken (nothing if it can), which tiles a block has room for, and how long it
// --- takes for one, k deep.

std::string obstacle_of_types(const Request& request) {
  const Problem& problem = request.problem;
  if (speed_of(request.target, problem.dtype) == 0) return "they take no " + std::string(to_string(problem.dtype));
  const Dtype sums = iris::default_accumulate(problem.dtype);
  return problem.accumulate == sums ? "" : "sums are not in " + std::string(to_string(sums));
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

/// Whether a launch makes one product of matrices in memory, and no more.
bool is_alone(const Products& products) {
  return products.count == 1 && !products.gathers_rows && !products.moves_by_blocks && !products.sends_beside &&
         !products.completes_tiles && products.parts == 1;
}

/// The tiles of a table of what has been measured of each.
template <typename Measured, std::size_t count>
constexpr std::array<Tiles, count> tiles_in(const std::array<Measured, count>& table) {
  std::array<Tiles, count> tiles{};
  std::ranges::transform(table, tiles.begin(), &Measured::tiles);
  return tiles;
}

/// The row of one of its tiles.
template <typename Measured, std::size_t count>
const Measured& row_of(const std::array<Measured, count>& table, const Tiles& tiles) {
  return *std::ranges::find_if(table,
                               [&](const Measured& row) { return row.tiles.m == tiles.m && row.tiles.n == tiles.n; });
}

/// "A, B or C" of what `text_of` says of those tiles that a block has room for.
std::string alternatives(const Problem& problem, const Products& products, std::span<const Tiles> tiles,
                         bool (*holds)(const Problem&, const Products&, const Tiles&),
                         std::string (*text_of)(const Tiles&)) {
  std::vector<std::string> texts;
  for (const Tiles& each : tiles) {
    if (holds(problem, products, each)) texts.push_back(text_of(each));
  }
  std::string text = texts.front();
  for (std::size_t i = 1; i < texts.size(); ++i) text += (i + 1 < texts.size() ? ", " : " or ") + texts[i];
  return text;
}

double tile_us(const Target& target, const Tiles& tiles, double k, double share_of_rate, double between_us) {
  const double flops = 2.0 * static_cast<double>(tiles.m * tiles.n) * k;
  return flops / (target.matrix_burst_tflops / target.compute_units * share_of_rate) / 1e6 + between_us;
}

// sm_90a: device/main_loop/wgmma.hpp.

constexpr std::array<std::int64_t, 3> wgmma_sending_blocks = {4, 8, 16};
/// At depths of 1024 to 8192: narrow tiles multiply at a share of the rate of 256 columns, and between a tile and the
/// next some time is lost, less where a warp stores a tile's rows in place of copies. Measured on an H200; 8-bit
/// floats, for which what comes into shared memory is the limit, on an H100; of those a block has no room for wider
/// tiles.
struct WgmmaMeasured {
  Tiles tiles;
  double share;
  double share_of_bytes;
  double between_copies_us;
  double between_stores_us;
};
constexpr Tiles wgmma_tile(std::int64_t columns) {
  return {128, columns, wgmma_depth, 384, 16};
}
constexpr std::array wgmma_table = {
    WgmmaMeasured{wgmma_tile(256), 1, 0, 1.5, 1.5},       WgmmaMeasured{wgmma_tile(224), 0.975, 0, 1.9, 1.9},
    WgmmaMeasured{wgmma_tile(192), 0.96, 1.05, 1.9, 1.9}, WgmmaMeasured{wgmma_tile(160), 0.94, 1.01, 1.9, 1.9},
    WgmmaMeasured{wgmma_tile(128), 0.95, 0.92, 2.5, 1.9}, WgmmaMeasured{wgmma_tile(96), 0.76, 0.76, 2.8, 1.6},
    WgmmaMeasured{wgmma_tile(64), 0.61, 0.61, 3.0, 1.3}};
constexpr std::array wgmma_tiles = tiles_in(wgmma_table);

/// Of 8-bit elements each sum takes two registers: one of a stage, one of all; beside tiles that are gone through once
/// more there are fewer. Results of 32 bits take twice the shared memory. Where B is contiguous along n, copies bring
/// panels of 64 columns.
bool wgmma_holds(const Problem& problem, const Products& products, const Tiles& tiles) {
  const bool in_panels = problem.layout_b == iris::Layout::kn;
  const int bytes = iris::bytes_of(problem.dtype);
  const std::int64_t widest_of_bytes = products.completes_tiles ? 128 : 192;
  return tiles.n <= (bytes == 1 ? widest_of_bytes : bytes == 2 ? 256 : 128) && (!in_panels || tiles.n % 64 == 0);
}

std::string wgmma_widths(const Problem& problem, const Products& products) {
  const int bytes = iris::bytes_of(problem.dtype);
  return alternatives(problem, products, wgmma_tiles, wgmma_holds,
                      [](const Tiles& tiles) { return std::to_string(tiles.n); }) +
         (bytes != 2                             ? " for elements of " + std::to_string(8 * bytes) + " bits"
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
  const Dimension gathered = products.by_copy_engine ? Dimension{"m"} : products.a_rows;
  for (const Dimension& rows : {products.a_rows, gathered, products.columns}) {
    if (static_length(problem, rows).value_or(0) > INT32_MAX) return rows.extent + " is over 2^31";
  }
  if (differs(request, "threads", {384})) return "they take blocks of 384 threads";
  if (differs(request, "tile_m", {128})) return "they take a tile_m of 128";
  const bool has_width = std::ranges::any_of(
      wgmma_tiles, [&](const Tiles& tiles) { return wgmma_holds(problem, products, tiles) && allows(request, tiles); });
  if (!has_width) return "they take a tile_n of " + wgmma_widths(problem, products);
  const std::int64_t depth = depth_of(problem, wgmma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// As device/main_loop/wgmma_layout.hpp has it.
bool multiplies_columns(const Problem& problem, const Products& products, const Tiles& tiles) {
  const bool of_16_bits = iris::bytes_of(problem.dtype) == 2 && iris::bytes_of(problem.result) == 2;
  return tiles.n == 64 && problem.layout_b == iris::Layout::nk && of_16_bits && products.depth_parts == 1 &&
         wgmma_stage_rows(problem, products, tiles.m) == tiles.m;
}

double wgmma_tile_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles,
                     double k) {
  constexpr double share_of_columns = 0.70;  // measured on an H100
  const WgmmaMeasured& row = row_of(wgmma_table, tiles);
  const bool of_bytes = iris::bytes_of(problem.dtype) == 1;
  const double share = multiplies_columns(problem, products, tiles) ? share_of_columns
                       : of_bytes                                   ? row.share_of_bytes
                                                                    : row.share;
  const bool stored = products.shipped_bytes == 0;
  return tile_us(target, tiles, k, share, stored ? row.between_stores_us : row.between_copies_us);
}

// AMD: device/main_loop/mfma.hpp.

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
double mfma_tile_us(const Problem&, const Target& target, const Products&, const Tiles& tiles, double k) {
  const auto& [largest, middle, smallest] = mfma_tiles;
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= largest.m * largest.n ? 1 : elements >= middle.m * middle.n ? 0.85 : 0.65;
  return tile_us(target, tiles, k, share, 2.0);
}

// sm_90a, f32: device/main_loop/fma_staged.hpp.

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

// sm_90a, f64: device/main_loop/mma.hpp.

constexpr std::array mma_dtypes = {Dtype::f64};
constexpr std::int64_t mma_depth = 64;  // 128 bytes
constexpr std::array mma_tiles = {Tiles{128, 128, mma_depth, 256, 16}, Tiles{128, 64, mma_depth, 256, 16},
                                  Tiles{64, 128, mma_depth, 256, 16}, Tiles{64, 64, mma_depth, 256, 16}};

/// The largest tile leaves no registers for anything but a product of one matrix in memory.
bool mma_holds(const Problem& /*problem*/, const Products& products, const Tiles& tiles) {
  return (is_alone(products) && products.depth_parts == 1) || tiles.m * tiles.n <= 8192;
}

std::string obstacle_to_mma(const Request& request, const Products& products) {
  if (std::string obstacle = obstacle_of_types(request); !obstacle.empty()) return obstacle;
  if (differs(request, "threads", {256})) return "they take blocks of 256 threads";
  if (differs(request, "tile_m", {64, 128})) return "they take a tile_m of 64 or 128";
  if (differs(request, "tile_n", {64, 128})) return "they take a tile_n of 64 or 128";
  const Tiles wanted = {request.wanted("tile_m").value_or(0), request.wanted("tile_n").value_or(0), mma_depth, 0, 0};
  if (!mma_holds(request.problem, products, wanted)) {
    return "they take a tile of 128 x 64 or 64 x 128 at most beside other work";
  }
  const std::int64_t depth = depth_of(request.problem, mma_depth);
  if (differs(request, "tile_k", {depth})) return "they take a tile_k of " + std::to_string(depth);
  return "";
}

/// Measured on an H100, 4096 deep.
double mma_tile_us(const Problem&, const Target& target, const Products&, const Tiles& tiles, double k) {
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= 16384 ? 0.81 : elements >= 8192 ? 0.70 : 0.57;
  return tile_us(target, tiles, k, share, 2.0);
}

constexpr std::array fast_loops = {
    FastLoop{.platform = Platform::nvidia,
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
             .reason = "multiply-adds, fed from four stages in shared memory: matrix units would round f32 to tf32, "
                       "which has a dtype of its own",
             .threads_reason = "two warps for each of a compute unit's schedulers",
             .depth_reason = "64 bytes"},
    FastLoop{.platform = Platform::nvidia,
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
             .threads_reason = "two warps for each of a compute unit's matrix units",
             .depth_reason = "two products, 128 bytes"},
    FastLoop{.platform = Platform::nvidia,
             .main_loop = MainLoop::wgmma,
             .alone_for = {},
             .tiles = wgmma_tiles,
             .of_any_size = 0,
             .comm_blocks = 8,  // each of them a whole compute unit
             .sending_blocks = wgmma_sending_blocks,
             .obstacle = obstacle_to_wgmma,
             .holds = wgmma_holds,
             .tile_us = wgmma_tile_us,
             .called = "matrix units",
             .reason = "matrix units, fed by tensor copies",
             .threads_reason = "a warpgroup that moves data, two for products and what becomes of them",
             .depth_reason = "128 bytes, a row of shared memory"},
    FastLoop{.platform = Platform::amd,
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
             .threads_reason = "two waves for each of a compute unit's matrix units",
             .depth_reason = "16 bytes for each lane of a product"},
};

}  // namespace

const FastLoop* fast_loop_of(const Target& target, Dtype dtype) {
  const auto* found = std::ranges::find_if(fast_loops, [&](const FastLoop& loop) {
    const bool takes = loop.alone_for.empty() || std::ranges::find(loop.alone_for, dtype) != loop.alone_for.end();
    return loop.platform == target.platform && takes;
  });
  return found == fast_loops.end() ? nullptr : found;
}

std::string reason_of(const FastLoop& loop, const Request& request, const Products& products) {
  // What is transposed is read one element at a time whatever its rows.
  const bool transposes = loop.main_loop == MainLoop::fma_staged;
  const std::string slowly = transposes ? "" : obstacle_of_rows(request.problem, products);
  const bool fnuz = request.problem.dtype == Dtype::e4m3 && request.target.matrix_e4m3 == MatrixE4m3::fnuz;
  return std::string(loop.reason) +
         (fnuz ? "; whose 8-bit floats have another bias: zeros and NaNs are changed on the way, sums are quadrupled"
               : "") +
         (slowly.empty() ? "" : "; " + slowly + "; such rows are read one element at a time");
}

}  // namespace irisgen
