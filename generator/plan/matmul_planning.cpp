#include "generator/plan/matmul_planning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/plan/gathering_times.hpp"
#include "generator/plan/loop_times.hpp"
#include "generator/plan/wgmma_stages.hpp"

namespace irisgen {
namespace {

constexpr Tiles gpu_tiles = {64, 64, 16, 256, 16};
/// Fibers of the CPU change at every slice of a tile: larger tiles where there is much to multiply.
constexpr Tiles small_host_tiles = {16, 16, 16, 16, 2};
constexpr Tiles large_host_tiles = {32, 32, 32, 16, 2};
constexpr double large_host_flops = 4e6;

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

}  // namespace

Tiles default_tiles(const Request& request) {
  if (!request.on_host()) return gpu_tiles;
  const Problem& problem = request.typical();
  const bool large = problem.is_static() && 2 * static_cast<double>(iris::size_of(problem)) > large_host_flops;
  return large ? large_host_tiles : small_host_tiles;
}

std::vector<Argument> product_arguments(const Problem& problem, std::vector<Dimension> a, const Dimension& columns_of_b,
                                        std::vector<Dimension> output) {
  std::vector<Dimension> b = {{"k"}, columns_of_b};
  if (problem.layout_b == iris::Layout::nk) std::ranges::reverse(b);
  std::vector<Argument> arguments = {
      {.name = "a", .access = Access::read, .dtype = problem.dtype, .shape = std::move(a)},
      {.name = "b", .access = Access::read, .dtype = problem.dtype, .shape = std::move(b)}};
  if (problem.dtype == Dtype::e4m3) {
    for (const char* scale : {"scale_a", "scale_b"}) {
      arguments.push_back({.name = scale, .access = Access::read, .dtype = Dtype::f32, .shape = {}});
    }
  }
  arguments.push_back({.name = "output", .access = Access::write, .dtype = problem.result, .shape = std::move(output)});
  return arguments;
}

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

/// High bands share operands in the cache. Where tiles of several ranks are taken in turn, each rank's rows are others:
/// the bands are lower. Where rows arrive from all ranks meanwhile, few come together; those that the copy engine
/// brings come rank by rank. Where no blocks move anything, the 16 blocks that lie side by side on the chip had better
/// ask for few rows and columns together, so that bands of narrow tiles are low: measured on an H100, alone, and beside
/// copies on four H200s.
void choose_band(const Request& request, KernelPlan& kernel, const Products& products, std::int64_t highest) {
  const int parts = std::max(1, products.parts);
  std::int64_t band = request.on_host() ? highest : std::max<std::int64_t>(1, highest / parts);
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t highest_alone = tile_n == 64 ? 2 : tile_n == 96 ? 4 : 8;
  const bool as_they_arrive = products.gathers_rows && !products.by_copy_engine && !products.rows_together;
  const bool alone = !as_they_arrive && products.shipped_bytes == 0;
  if (kernel.main_loop() == MainLoop::wgmma && alone) band = std::min(band, highest_alone);
  std::string reason = "share operands in the cache";
  const auto columns = static_length(request.typical(), products.columns);
  if (!request.on_host() && as_they_arrive && columns && *columns > 0) {
    band = arriving_band(*columns, tile_n, parts, highest,
                         blocks_side_by_side(request.target, kernel, request.problem.accumulate));
    reason = "of each rank are multiplied together, as they arrive";
  }
  add_number(kernel, "tile_band", band, "tiles from top to bottom", std::move(reason));
}

/// Of all launches: those that are known, or those that the kernel is taken for.
std::optional<std::int64_t> most_rows_of(const Request& request, const Dimension& rows) {
  if (const auto known = static_length(request.problem, rows)) return known;
  const auto& most = request.launches.most_rows;
  if (!most || rows.extent != "m") return std::nullopt;
  return divide_up(*most * rows.factor, rows.divisor);
}

}  // namespace

void choose_tiles(const Request& request, KernelPlan& kernel, const Products& products) {
  const FastLoopChoice loop_choice = fast_loop_for(request, products);
  const FastLoop* loop = loop_choice.loop;
  const LoopChoice choice =
      loop ? choose_for(*loop, request, products) : LoopChoice{default_tiles(request), 0, std::nullopt, 0};
  const Tiles& fallback = choice.tiles;
  const bool is_static = request.problem.is_static();
  const std::string reason = request.typical().is_static() && !is_static ? "suits launches of this size"
                             : loop              ? turns_text(is_static ? choice.turns : std::nullopt)
                             : request.on_host() ? "few changes of fiber for the multiplications between them"
                                                 : "a square in registers for each thread, slices in shared memory";
  kernel.constants.push_back(
      {"MainLoop", loop ? loop->main_loop : MainLoop::fma, "", reason_of(loop_choice, request, products)});
  kernel.constants.push_back({"LayoutB", request.problem.layout_b.value(), "", ""});
  Tiles tiles{};
  tiles.threads = decide(request, kernel, "threads", fallback.threads, "",
                         loop ? std::string(loop->threads_reason) : "suits the tile");
  tiles.m = decide(request, kernel, "tile_m", fallback.m, "", reason);
  tiles.n = decide(request, kernel, "tile_n", fallback.n, "", reason);
  tiles.k = decide(request, kernel, "tile_k", fallback.k, "", loop ? std::string(loop->depth_reason) : reason);
  choose_band(request, kernel, products, fallback.band);
  if (kernel.main_loop() == MainLoop::wgmma) {
    const std::int64_t stage_rows = wgmma_stage_rows(tiles.m, most_rows_of(request, products.rows));
    add_number(kernel, "stage_rows", stage_rows, "rows of A in a stage",
               stage_rows < tiles.m ? "there are no more" : "those of a tile");
    const std::int64_t box_rows = wgmma_box_rows(products, stage_rows);
    add_number(kernel, "box_rows", box_rows, "rows of A in one copy",
               box_rows < stage_rows ? "of which one comes while another leaves" : "those of a stage");
    const std::int64_t groups = wgmma_stage_groups(request.problem, products, stage_rows, tiles.n);
    add_number(kernel, "stages", wgmma_stages(request, products, tiles, stage_rows, groups),
               "of both operands, on their way", "as many as shared memory holds beside a finished tile");
    add_number(kernel, "stage_groups", groups, "warpgroups that take stages in turn",
               groups > 1                 ? "one alone would wait for each product"
               : stage_rows <= wgmma_rows ? "one has all rows of a tile"
                                          : "each has rows of its own, or one all columns");
    kernel.maps = wgmma_maps(request, products, tiles, box_rows);
  } else if (!loop) {
    check_fragment(request, tiles);
    check_shared_memory(request, tiles);
  }

  // Slices of operands are read in accesses of `vector` and of the accumulator's, tiles of results in whole ones.
  const int vector = choose_vector(request, kernel, request.problem.dtype);
  const std::int64_t widest = std::max<std::int64_t>(vector, access_bytes / iris::bytes_of(request.problem.accumulate));
  const std::int64_t widest_n = std::max(widest, access_bytes / iris::bytes_of(request.problem.result));
  if (tiles.m % widest != 0 || tiles.n % widest_n != 0 || tiles.k % vector != 0) {
    refuse(request, "tile_k",
           "tiles of " + size_text(tiles) + " cut accesses of 16 bytes; write multiples of " + std::to_string(widest) +
               " for tile_m and tile_k, of " + std::to_string(widest_n) + " for tile_n");
  }
}

Problem product_of(const Problem& problem, const Dimension& rows, const Dimension& columns) {
  return {.pattern = "matmul",
          .dtype = problem.dtype,
          .accumulate = problem.accumulate,
          .result = problem.result,
          .layout_b = problem.layout_b,
          .world = problem.world,
          .extents = {{"m", extent_of(problem, rows)}, {"n", extent_of(problem, columns)}, {"k", problem.extent("k")}}};
}

Problem whole_product(const Problem& problem) {
  return product_of(problem, {"m"}, {"n"});
}

void choose_summing(const Request& request, KernelPlan& kernel, int sources) {
  if (kernel.main_loop() == MainLoop::wgmma) {
    choose_unroll(request, kernel, sources);
  } else {
    add_number(kernel, "unroll", 1, "accesses in flight", "more would not stay in registers");
  }
}

void choose_pace(const Request& request, KernelPlan& kernel, const Products& products) {
  if (kernel.main_loop() != MainLoop::wgmma) return;
  const Problem& problem = request.typical();
  const Tiles tiles = {kernel.number("tile_m"), kernel.number("tile_n"), kernel.number("tile_k"), 0, 0};
  const auto k = static_length(problem, {"k"});
  const double tile_us =
      k ? fast_loop_of(kernel).tile_us(problem, request.target, products, tiles,
                                       static_cast<double>(*k) / speed_of(request.target, problem.dtype))
        : std::numeric_limits<double>::infinity();
  const Pace pace = pace_of(problem, request.target, multiplying_blocks(kernel), tiles, tile_us);
  add_number(kernel, "ship_ns", std::llround(pace.ship_ns), "ns for a finished tile to leave for another rank",
             pace.ship_ns < pace.links_ns ? "it has arrived before the next is made"
                                          : "links need as long for those of all blocks");
}

PartRequest matmul_part(const Problem& whole, const std::string& a, const std::string& output, Dtype result) {
  PartRequest part{.name = "matmul",
                   .problem = {.pattern = "matmul",
                               .dtype = whole.dtype,
                               .accumulate = whole.accumulate,
                               .result = result,
                               .layout_b = whole.layout_b},
                   .extents = {{"m", {"m"}}, {"n", {"n"}}, {"k", {"k"}}},
                   .buffers = {{"a", a}, {"b", "b"}, {"output", output}},
                   .settings = {}};
  for (const std::string_view key : tile_keys) part.settings.emplace_back(key, key);
  for (const char* scale : {"scale_a", "scale_b"}) part.buffers.emplace_back(scale, scale);
  return part;
}

double matrix_bytes(const Problem& problem, const std::vector<Dimension>& shape, Dtype dtype) {
  double bytes = static_cast<double>(iris::bytes_of(dtype));
  for (const Dimension& dimension : shape) bytes *= static_cast<double>(static_length(problem, dimension).value());
  return bytes;
}

}  // namespace irisgen
