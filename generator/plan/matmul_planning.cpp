#include "generator/plan/matmul_planning.hpp"

#include <algorithm>

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
  const bool large = problem.is_static() && weighted_flops(problem) > large_host_flops;
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

int blocks_of_unit(const Request& request) {
  return request.problem.accumulate == Dtype::f64 ? request.target.f64_blocks_per_unit : blocks_per_unit;
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

int choose_tiles(const Request& request, KernelPlan& kernel) {
  const Tiles fallback = default_tiles(request);
  const std::string reason = request.on_host() ? "few changes of fiber for the multiplications between them"
                                               : "a square in registers for each thread, slices in shared memory";
  Tiles tiles{};
  tiles.threads = decide(request, kernel, "threads", fallback.threads, "", "suits the tile");
  tiles.m = decide(request, kernel, "tile_m", fallback.m, "", reason);
  tiles.n = decide(request, kernel, "tile_n", fallback.n, "", reason);
  tiles.k = decide(request, kernel, "tile_k", fallback.k, "", reason);
  add_number(kernel, "tile_band", fallback.band, "tiles from top to bottom", "share operands in the cache");
  check_fragment(request, tiles);
  check_shared_memory(request, tiles);
  kernel.constants.push_back({"MainLoop", MainLoop::fma, "", ""});

  const int vector = choose_vector(request, kernel, request.problem.dtype);
  const std::int64_t widest = std::max<std::int64_t>(vector, access_bytes / iris::bytes_of(request.problem.accumulate));
  if (tiles.m % widest != 0 || tiles.n % widest != 0 || tiles.k % vector != 0) {
    refuse(request, "tile_k",
           "tiles of " + size_text(tiles) + " cut accesses of 16 bytes; write multiples of " + std::to_string(widest) +
               " for tile_m, tile_n and tile_k");
  }
  return vector;
}

std::optional<std::int64_t> tiles_of(const Request& request, const KernelPlan& kernel, const Dimension& rows,
                                     const Dimension& columns) {
  const auto m = static_length(request.problem, rows);
  const auto n = static_length(request.problem, columns);
  if (!m || !n || !request.problem.is_static()) return std::nullopt;
  const auto cut = [](std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; };
  return cut(*m, kernel.number("tile_m")) * cut(*n, kernel.number("tile_n"));
}

void choose_matmul_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> tiles) {
  const std::int64_t most =
      request.on_host() ? host_compute_blocks : std::int64_t{blocks_of_unit(request)} * request.target.compute_units;
  std::int64_t blocks = most;
  std::string reason = request.on_host() ? "enough to interleave" : "as many as run side by side";
  if (tiles && *tiles < most) {
    blocks = std::max<std::int64_t>(1, *tiles);
    reason = "one for each of the " + std::to_string(*tiles) + " tiles";
  }
  decide(request, kernel, "blocks", blocks, "", std::move(reason));
  bound_grid(request, kernel);
}

void choose_roles(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> tiles,
                  const std::string& role) {
  const bool host = request.on_host();
  const std::int64_t comm_blocks = request.wanted("comm_blocks").value_or(host ? host_comm_blocks : gpu_comm_blocks);
  const int per_unit = blocks_of_unit(request);
  const std::int64_t most =
      host ? comm_blocks + host_compute_blocks : std::int64_t{per_unit} * request.target.compute_units;
  std::int64_t blocks = most;
  std::string reason = host            ? "enough to interleave"
                       : per_unit == 1 ? "one on each compute unit: sums in f64 take many registers"
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

double matmul_flops(const Problem& problem) {
  return 2 * length(problem, "m") * length(problem, "n") * length(problem, "k");
}

double weighted_flops(const Problem& problem) {
  constexpr double f64_weight = 2;
  return matmul_flops(problem) * (problem.accumulate == Dtype::f64 ? f64_weight : 1);
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
