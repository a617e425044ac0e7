#include "generator/plan/matmul_planning.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace irisgen {
namespace {

constexpr std::int64_t access_bytes = 16;

struct Tiles {
  std::int64_t m, n, k, threads, band;
};

constexpr Tiles gpu_tiles = {64, 64, 16, 256, 16};
/// Fibers of the CPU change at every slice of a tile: larger tiles where there is much to multiply.
constexpr Tiles small_host_tiles = {16, 16, 16, 16, 2};
constexpr Tiles large_host_tiles = {32, 32, 32, 16, 2};
constexpr double large_host_flops = 4e6;

constexpr int blocks_per_unit = 2;
constexpr int gpu_comm_blocks = 16;
constexpr int host_comm_blocks = 2;
constexpr int host_compute_blocks = 3;

Tiles default_tiles(const Request& request) {
  if (!request.on_host()) return gpu_tiles;
  const Problem& problem = request.problem;
  const bool large = problem.is_static() && matmul_flops(problem) > large_host_flops;
  return large ? large_host_tiles : small_host_tiles;
}

/// As iris/device/main_loop/fma.hpp distributes a tile to the threads.
std::int64_t fragment_columns(std::int64_t elements) {
  std::int64_t side = 1;
  while (4 * side * side <= elements) side *= 2;
  return side;
}

std::string size_text(const Tiles& tiles) {
  return std::to_string(tiles.m) + " x " + std::to_string(tiles.n) + " x " + std::to_string(tiles.k);
}

void check_fragment(const Request& request, const Tiles& tiles) {
  constexpr int most_sums = 64;  // more spill out of the registers
  const std::int64_t sums = tiles.m * tiles.n / tiles.threads;
  if (sums < 1 || sums > most_sums || sums * tiles.threads != tiles.m * tiles.n) {
    refuse(request, "tile_m",
           "a tile of " + size_text(tiles) + " for " + std::to_string(tiles.threads) +
               " threads; tile_m * tile_n must be a multiple of threads, from 1 to " + std::to_string(most_sums) +
               " times as many");
  }
  const std::int64_t columns = fragment_columns(sums);
  const std::int64_t rows = sums / columns;
  if (tiles.n % columns != 0 || tiles.m % rows != 0) {
    refuse(request, "tile_m",
           "a tile of " + size_text(tiles) + " cannot be cut into " + std::to_string(tiles.threads) +
               " rectangles of " + std::to_string(rows) + " x " + std::to_string(columns) +
               "; write powers of two for tile_m, tile_n and threads");
  }
}

void check_shared_memory(const Request& request, const Tiles& tiles) {
  if (request.on_host()) return;
  const std::int64_t value = iris::bytes_of(request.problem.accumulate);
  const std::int64_t bytes = tiles.k * (tiles.m + tiles.n + 2 * access_bytes / value) * value;
  const std::int64_t limit = request.target.shared_bytes;
  if (bytes <= limit) return;
  refuse(request, "tile_k",
         "tiles of " + size_text(tiles) + " take " + std::to_string(bytes) + " bytes of shared memory; a block has " +
             std::to_string(limit) + ", write a smaller tile_k");
}

int blocks_of_unit(const Target& target, Dtype accumulate) {
  return accumulate == Dtype::f64 ? target.f64_blocks_per_unit : blocks_per_unit;
}

/// Blocks that multiply side by side.
std::int64_t resident_blocks(const Target& target, const KernelPlan& kernel, Dtype accumulate) {
  const int per_unit = kernel.main_loop() == MainLoop::fma ? blocks_of_unit(target, accumulate) : 1;
  return std::int64_t{per_unit} * target.compute_units;
}
std::int64_t resident_blocks(const Request& request, const KernelPlan& kernel) {
  return resident_blocks(request.target, kernel, request.problem.accumulate);
}

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

/// Of all products together; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n) {
  const auto rows = static_length(problem, products.rows);
  const auto columns = static_length(problem, products.columns);
  if (!rows || !columns || !problem.is_static()) return std::nullopt;
  return products.count * divide_up(*rows, tile_m) * divide_up(*columns, tile_n);
}

// --- Matrix units. Each platform has one main loop for them; the functions say why it cannot be taken (nothing if it
// --- can), and how long one block takes for one tile, k deep.

std::string obstacle_of_types(const Problem& problem) {
  if (problem.dtype != Dtype::f16 && problem.dtype != Dtype::bf16) return "the operands are not of 16 bits";
  if (problem.accumulate != Dtype::f32) return "sums are not in f32";
  return "";
}

/// Why rows of A or B may not be read 16 bytes at a time; empty if they are.
std::string obstacle_of_rows(const Problem& problem, const Products& products) {
  for (const Dimension& columns : {Dimension{"k"}, products.columns}) {
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
  return flops / (target.matrix_tflops / target.compute_units * share_of_rate) / 1e6 + between_us;
}

// sm_90a: device/main_loop/wgmma.hpp.

constexpr std::array<std::int64_t, 3> wgmma_sending_blocks = {4, 8, 16};
constexpr std::array wgmma_tiles = {Tiles{128, 256, 64, 384, 16}, Tiles{128, 128, 64, 384, 16}};

std::string obstacle_to_wgmma(const Request& request, const Products& products) {
  const Problem& problem = request.problem;
  if (std::string obstacle = obstacle_of_types(problem); !obstacle.empty()) return obstacle;
  if (std::string obstacle = obstacle_of_rows(problem, products); !obstacle.empty()) return obstacle;
  for (const Dimension& columns : {Dimension{"k"}, products.columns}) {
    if (static_length(problem, columns) == 0) return columns.extent + " is 0";
  }
  for (const Dimension& rows : {products.a_rows, products.gathered_rows.value_or(Dimension{"k"}), products.columns}) {
    if (static_length(problem, rows).value_or(0) > INT32_MAX) return rows.extent + " is over 2^31";
  }
  if (differs(request, "threads", {384})) return "they take blocks of 384 threads";
  if (differs(request, "tile_m", {128})) return "they take a tile_m of 128";
  if (differs(request, "tile_n", {64, 128, 256})) return "they take a tile_n of 64, 128 or 256";
  if (differs(request, "tile_k", {64})) return "they take a tile_k of 64";
  return "";
}

/// Measured on an H200: tiles of 128 columns multiply at that share of the rate of 256, and between a tile and the next
/// some time is lost.
double wgmma_tile_us(const Target& target, const Tiles& tiles, double k) {
  constexpr double share_of_narrow = 0.9;
  return tile_us(target, tiles, k, tiles.n == 256 ? 1 : share_of_narrow, 1.5);
}

std::int64_t wgmma_stages(const Target& target, std::int64_t tile_n) {
  constexpr std::int64_t row_bytes = 128;
  constexpr std::int64_t tile_m = 128;
  constexpr std::int64_t barriers = 1024;
  const std::int64_t finished = tile_m * (2 * tile_n + access_bytes);
  return std::min<std::int64_t>(6, (target.shared_bytes - barriers - finished) / ((tile_m + tile_n) * row_bytes));
}

std::vector<iris::MatrixMap> wgmma_maps(const Request& request, const Products& products, const Tiles& tiles) {
  constexpr int panel_columns = 64;
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
  add("a", products.a_rows, {"k"}, tiles.m);
  add("b", {"k"}, products.columns, tiles.k);
  if (products.gathered_rows) add(iris::workspace_name, *products.gathered_rows, {"k"}, tiles.m);
  return maps;
}

// AMD: device/main_loop/mfma.hpp.

constexpr std::array mfma_tiles = {Tiles{256, 128, 32, 512, 16}, Tiles{128, 128, 32, 512, 16},
                                   Tiles{128, 64, 32, 512, 16}};

std::string obstacle_to_mfma(const Request& request, const Products& /*products*/) {
  if (std::string obstacle = obstacle_of_types(request.problem); !obstacle.empty()) return obstacle;
  if (differs(request, "threads", {512})) return "they take blocks of 512 threads";
  if (differs(request, "tile_m", {128, 256})) return "they take a tile_m of 128 or 256";
  if (differs(request, "tile_n", {64, 128})) return "they take a tile_n of 64 or 128";
  if (differs(request, "tile_k", {32})) return "they take a tile_k of 32";
  return "";
}

/// Assumed: a wave of a smaller tile reads more operands from shared memory for each product, by half and by one and a
/// half, and the first slice of a tile comes from memory while nothing is multiplied.
double mfma_tile_us(const Target& target, const Tiles& tiles, double k) {
  const auto& [largest, middle, smallest] = mfma_tiles;
  const std::int64_t elements = tiles.m * tiles.n;
  const double share = elements >= largest.m * largest.n ? 1 : elements >= middle.m * middle.n ? 0.85 : 0.65;
  return tile_us(target, tiles, k, share, 2.0);
}

struct MatrixUnits {
  Platform platform;
  MainLoop loop;
  std::span<const Tiles> tiles;                  ///< to choose from
  std::size_t of_any_size;                       ///< which of them, where sizes are known only at launch
  int comm_blocks;                               ///< where nothing else says how many
  std::span<const std::int64_t> sending_blocks;  ///< to choose from, where those blocks send operands
  std::string (*obstacle)(const Request&, const Products&);
  double (*tile_us)(const Target&, const Tiles&, double k);
  std::string_view reason;
  std::string_view threads_reason;
  std::string_view depth_reason;
};

constexpr std::array matrix_units = {
    MatrixUnits{.platform = Platform::nvidia,
                .loop = MainLoop::wgmma,
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

/// nullptr where the target has none.
const MatrixUnits* matrix_units_of(const Target& target) {
  const auto* found = std::ranges::find(matrix_units, target.platform, &MatrixUnits::platform);
  return found == matrix_units.end() ? nullptr : found;
}

/// The time of a product whose operands arrive meanwhile: blocks that find no tile of the rank's own wait for the first
/// ones. A block that sends carries so much, measured on H200s.
double with_arrival(const Problem& problem, const Target& target, const Products& products, std::int64_t comm_blocks,
                    std::int64_t blocks, const Tiles& tiles, double multiply_us) {
  constexpr double block_gbs = 42;
  if (products.sent_bytes == 0) return multiply_us;
  const double rate = std::min(target.link_gbs, static_cast<double>(comm_blocks) * block_gbs);
  const double link_us = products.sent_bytes / rate / 1e3;
  const double own_tiles = static_cast<double>(tiles_of(problem, products, tiles.m, tiles.n).value()) / products.count;
  const double waiting = std::max(0.0, 1 - own_tiles / static_cast<double>(blocks));
  return std::max(multiply_us + waiting * link_us, link_us);
}

std::string units_reason(const MatrixUnits& units, const Request& request, const Products& products) {
  const std::string slowly = obstacle_of_rows(request.problem, products);
  return std::string(units.reason) +
         (slowly.empty() ? "" : "; " + slowly + "; such rows are read one element at a time");
}

struct UnitsChoice {
  Tiles tiles;
  std::int64_t comm_blocks;
  std::int64_t turns;  ///< of the compute units; 0: an extent is dynamic
};

/// Those of the tiles that `config:` allows; at least one.
std::vector<Tiles> allowed_tiles(const MatrixUnits& units, const Request& request) {
  std::vector<Tiles> allowed;
  for (const Tiles& tiles : units.tiles) {
    if (request.wanted("tile_m").value_or(tiles.m) == tiles.m &&
        request.wanted("tile_n").value_or(tiles.n) == tiles.n) {
      allowed.push_back(tiles);
    }
  }
  if (!allowed.empty()) return allowed;
  Tiles tiles = units.tiles[units.of_any_size];
  tiles.m = request.wanted("tile_m").value_or(tiles.m);
  tiles.n = request.wanted("tile_n").value_or(tiles.n);
  return {tiles};
}

/// The tile, and the number of blocks that do not multiply, with which a launch takes least time; what `config:` has
/// settled stays.
UnitsChoice choose_for(const MatrixUnits& units, const Request& request, const Products& products) {
  constexpr std::int64_t fills_links = 8;  // more are worth it only in the place of idle blocks
  const std::int64_t compute_units = request.target.compute_units;
  const std::int64_t blocks = std::min<std::int64_t>(compute_units, request.wanted("blocks").value_or(compute_units));
  const std::int64_t usual = std::min<std::int64_t>(units.comm_blocks, std::max<std::int64_t>(1, blocks / 2));
  const bool free = products.sent_bytes > 0 && !request.wanted("comm_blocks") && !request.wanted("blocks");
  std::vector<std::int64_t> all_comm_blocks = {request.wanted("comm_blocks").value_or(usual)};
  if (free && !units.sending_blocks.empty()) {
    all_comm_blocks.assign(units.sending_blocks.begin(), units.sending_blocks.end());
  }
  const std::vector<Tiles> all_tiles = allowed_tiles(units, request);
  UnitsChoice best{all_tiles[std::min(units.of_any_size, all_tiles.size() - 1)],
                   request.wanted("comm_blocks").value_or(usual), 0};
  if (!request.problem.is_static()) return best;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Tiles& tiles : all_tiles) {
    const std::int64_t count = tiles_of(request.problem, products, tiles.m, tiles.n).value();
    const bool most_wait = 2 * count / products.count < compute_units;
    for (const std::int64_t comm_blocks : all_comm_blocks) {
      if (all_comm_blocks.size() > 1 && comm_blocks > fills_links && !most_wait) continue;
      const std::int64_t multiplying = std::max<std::int64_t>(1, blocks - (products.moves_by_blocks ? comm_blocks : 0));
      const std::int64_t turns = divide_up(count, multiplying);
      const double multiply_us =
          static_cast<double>(turns) * units.tile_us(request.target, tiles, length(request.problem, "k"));
      const double us =
          with_arrival(request.problem, request.target, products, comm_blocks, multiplying, tiles, multiply_us);
      if (us >= best_us) continue;
      best_us = us;
      best = {tiles, comm_blocks, turns};
    }
  }
  return best;
}

std::string turns_text(std::int64_t turns) {
  if (turns == 0) return "suits sizes that are known only at launch";
  return std::to_string(turns) + (turns == 1 ? " turn" : " turns") + " of the compute units";
}

}  // namespace

void check_divides(const KernelSpec& spec, const Problem& problem, const std::string& extent, Report& report) {
  const iris::Extent& divided = problem.extent(extent);
  const std::int64_t rest = divided.dynamic ? 0 : divided.value % problem.world;
  if (rest == 0) return;
  const auto where = spec.where.extents.find(extent);
  report.error(where == spec.where.extents.end() ? spec.where.shape : where->second,
               extent + " = " + std::to_string(divided.value) + (extent == "m" ? " rows" : " columns") +
                   " cannot be divided among " + std::to_string(problem.world) + " ranks; write " +
                   std::to_string(divided.value - rest + problem.world) + ", the next multiple");
}

void check_rows(const KernelSpec& spec, const Problem& problem, Report& report) {
  check_divides(spec, problem, "m", report);
}

namespace {

/// High bands share operands in the cache; what goes to or comes from several ranks in turn wants low ones, so that the
/// blocks work on those of all ranks at once.
void choose_band(const Request& request, KernelPlan& kernel, const Products& products, std::int64_t highest) {
  const auto columns = static_length(request.problem, products.columns);
  std::int64_t band = highest;
  std::string reason = "share operands in the cache";
  if (!request.on_host() && products.parts > 1 && columns && *columns > 0) {
    const std::int64_t tiles_across = divide_up(*columns, kernel.number("tile_n"));
    band = std::min(highest, divide_up(resident_blocks(request, kernel), tiles_across * products.parts));
    reason = "so that all blocks together work on those of every rank";
  }
  add_number(kernel, "tile_band", band, "tiles from top to bottom", std::move(reason));
}

}  // namespace

int choose_tiles(const Request& request, KernelPlan& kernel, const Products& products) {
  const MatrixUnits* present = matrix_units_of(request.target);
  const std::string obstacle = present ? present->obstacle(request, products) : "";
  const MatrixUnits* units = obstacle.empty() ? present : nullptr;
  const UnitsChoice choice = units ? choose_for(*units, request, products) : UnitsChoice{default_tiles(request), 0, 0};
  const Tiles& fallback = choice.tiles;
  const std::string reason = units               ? turns_text(choice.turns)
                             : request.on_host() ? "few changes of fiber for the multiplications between them"
                                                 : "a square in registers for each thread, slices in shared memory";
  kernel.constants.push_back({"MainLoop", units ? units->loop : MainLoop::fma, "",
                              units     ? units_reason(*units, request, products)
                              : present ? "no matrix units: " + obstacle
                                        : ""});
  Tiles tiles{};
  tiles.threads = decide(request, kernel, "threads", fallback.threads, "",
                         units ? std::string(units->threads_reason) : "suits the tile");
  tiles.m = decide(request, kernel, "tile_m", fallback.m, "", reason);
  tiles.n = decide(request, kernel, "tile_n", fallback.n, "", reason);
  tiles.k = decide(request, kernel, "tile_k", fallback.k, "", units ? std::string(units->depth_reason) : reason);
  choose_band(request, kernel, products, fallback.band);
  if (kernel.main_loop() == MainLoop::wgmma) {
    add_number(kernel, "stages", wgmma_stages(request.target, tiles.n), "slices of both operands on their way",
               "as many as shared memory holds beside a finished tile");
    kernel.maps = wgmma_maps(request, products, tiles);
  } else if (!units) {
    check_fragment(request, tiles);
    check_shared_memory(request, tiles);
  }

  const int vector = choose_vector(request, kernel, request.problem.dtype);
  const std::int64_t widest = std::max<std::int64_t>(vector, access_bytes / iris::bytes_of(request.problem.accumulate));
  if (tiles.m % widest != 0 || tiles.n % widest != 0 || tiles.k % vector != 0) {
    refuse(request, "tile_k",
           "tiles of " + size_text(tiles) + " cut accesses of 16 bytes; write multiples of " + std::to_string(widest) +
               " for tile_m, tile_n and tile_k");
  }
  return vector;
}

void choose_matmul_grid(const Request& request, KernelPlan& kernel, const Products& products) {
  const std::int64_t most = request.on_host() ? host_compute_blocks : resident_blocks(request, kernel);
  const auto tiles = tiles_of(request.problem, products, kernel.number("tile_m"), kernel.number("tile_n"));
  std::int64_t blocks = most;
  std::string reason = request.on_host() ? "enough to interleave" : "as many as run side by side";
  if (tiles && *tiles < most) {
    blocks = std::max<std::int64_t>(1, *tiles);
    reason = "one for each of the " + std::to_string(*tiles) + " tiles";
  }
  decide(request, kernel, "blocks", blocks, "", std::move(reason));
  bound_grid(request, kernel);
}

void choose_roles(const Request& request, KernelPlan& kernel, const Products& products, const std::string& role) {
  const bool host = request.on_host();
  const MatrixUnits* units = kernel.main_loop() == MainLoop::fma ? nullptr : matrix_units_of(request.target);
  const std::int64_t comm_blocks = request.wanted("comm_blocks")
                                       .value_or(host    ? host_comm_blocks
                                                 : units ? choose_for(*units, request, products).comm_blocks
                                                         : gpu_comm_blocks);
  const std::int64_t most = host ? comm_blocks + host_compute_blocks : resident_blocks(request, kernel);
  const auto tiles = tiles_of(request.problem, products, kernel.number("tile_m"), kernel.number("tile_n"));
  std::int64_t blocks = most;
  std::string reason = host    ? "enough to interleave"
                       : units ? "one on each compute unit: registers and shared memory leave no room for another"
                       : blocks_of_unit(request.target, request.problem.accumulate) == 1
                           ? "one on each compute unit: sums in f64 take many registers"
                           : "two on each compute unit";
  if (tiles && comm_blocks + *tiles < most) {
    blocks = comm_blocks + std::max<std::int64_t>(1, *tiles);
    reason = "one for each of the " + std::to_string(*tiles) + " tiles, and those that " + role;
  }
  blocks = decide(request, kernel, "blocks", blocks, "", std::move(reason));
  decide(request, kernel, "comm_blocks", comm_blocks, "that " + role, "blocks that " + role);
  bound_grid(request, kernel);
  if (comm_blocks >= 1 && comm_blocks < blocks) return;
  const std::string limit =
      blocks == 1 ? "; write blocks: 2 or more" : "; comm_blocks must be from 1 to " + std::to_string(blocks - 1);
  refuse(request, blocks == 1 ? "blocks" : "comm_blocks",
         std::to_string(comm_blocks) + " of " + std::to_string(blocks) + (blocks == 1 ? " block " : " blocks ") + role +
             limit + ", so that some are left to multiply");
}

double multiply_us(const Problem& problem, const Target& target, const KernelPlan& kernel, const Products& products) {
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t comm_blocks = products.moves_by_blocks ? kernel.number("comm_blocks") : 0;
  const std::int64_t all_blocks = kernel.number("blocks");
  const std::int64_t side_by_side =
      target.platform == Platform::host ? all_blocks : resident_blocks(target, kernel, problem.accumulate);
  const std::int64_t blocks = std::max<std::int64_t>(1, std::min(all_blocks, side_by_side) - comm_blocks);
  const std::int64_t tiles = tiles_of(problem, products, tile_m, tile_n).value();
  const auto turns = static_cast<double>(divide_up(tiles, blocks));
  const double k = length(problem, "k");
  if (kernel.main_loop() != MainLoop::fma) {
    const Tiles of_kernel = {tile_m, tile_n, kernel.number("tile_k"), 0, 0};
    return with_arrival(problem, target, products, comm_blocks, blocks, of_kernel,
                        turns * matrix_units_of(target)->tile_us(target, of_kernel, k));
  }
  const double f64_weight = problem.accumulate == Dtype::f64 ? 2 : 1;
  const double tile_flops = 2.0 * static_cast<double>(tile_m * tile_n) * k * f64_weight;
  return turns * tile_flops * static_cast<double>(side_by_side) / target.main_loop_tflops / 1e6;
}

double matmul_flops(const Problem& problem) {
  return 2 * length(problem, "m") * length(problem, "n") * length(problem, "k");
}

double summing_us(const KernelPlan& kernel, double bytes) {
  constexpr double thread_gbs = 0.075;  // measured on H200s: a few accesses in flight
  const auto threads = static_cast<double>(kernel.number("comm_blocks") * kernel.number("threads"));
  return bytes / (threads * thread_gbs) / 1e3;
}

PartRequest matmul_part(const Problem& whole, const std::string& a, const std::string& output, Dtype result) {
  PartRequest part{
      .name = "matmul",
      .problem = {.pattern = "matmul", .dtype = whole.dtype, .accumulate = whole.accumulate, .result = result},
      .extents = {{"m", {"m"}}, {"n", {"n"}}, {"k", {"k"}}},
      .buffers = {{"a", a}, {"b", "b"}, {"output", output}},
      .settings = {}};
  for (const std::string_view key : tile_keys) part.settings.emplace_back(key, key);
  return part;
}

double matrix_bytes(const Problem& problem, const std::vector<Dimension>& shape, Dtype dtype) {
  double bytes = static_cast<double>(iris::bytes_of(dtype));
  for (const Dimension& dimension : shape) {
    bytes *= length(problem, dimension.extent) * static_cast<double>(dimension.factor) /
             static_cast<double>(dimension.divisor);
  }
  return bytes;
}

}  // namespace irisgen
