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

constexpr int blocks_per_unit = 2;
constexpr int host_comm_blocks = 2;
constexpr int host_compute_blocks = 3;

Tiles default_tiles(const Request& request) {
  if (!request.on_host()) return gpu_tiles;
  const Problem& problem = request.typical();
  const bool large = problem.is_static() && 2 * static_cast<double>(iris::size_of(problem)) > large_host_flops;
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

std::int64_t blocks_side_by_side(const Request& request, const KernelPlan& kernel) {
  return blocks_side_by_side(request.target, kernel, request.problem.accumulate);
}

}  // namespace

std::int64_t blocks_side_by_side(const Target& target, const KernelPlan& kernel, Dtype accumulate) {
  const int per_unit = fills_compute_unit(kernel) ? 1 : blocks_of_unit(target, accumulate);
  return std::int64_t{per_unit} * target.compute_units;
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
/// the bands are lower. Where rows arrive from all ranks meanwhile, a turn wants no more of them than it needs; those
/// that the copy engine brings come rank by rank. Where no blocks move anything, the 16 blocks that lie side by side on
/// the chip had better ask for few rows and columns together, so that bands of narrow tiles are low: measured on an
/// H100, alone, and beside copies on four H200s.
void choose_band(const Request& request, KernelPlan& kernel, const Products& products, std::int64_t highest) {
  const int parts = std::max(1, products.parts);
  std::int64_t band = request.on_host() ? highest : std::max<std::int64_t>(1, highest / parts);
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t highest_alone = tile_n == 64 ? 2 : tile_n == 96 ? 4 : 8;
  const bool as_they_arrive = products.gathers_rows && !products.by_copy_engine;
  const bool alone = !as_they_arrive && products.shipped_bytes == 0;
  if (kernel.main_loop() == MainLoop::wgmma && alone) band = std::min(band, highest_alone);
  std::string reason = "share operands in the cache";
  const auto columns = static_length(request.typical(), products.columns);
  if (!request.on_host() && as_they_arrive && columns && *columns > 0) {
    band = arriving_band(*columns, tile_n, parts, highest, blocks_side_by_side(request, kernel));
    reason = "of each rank are multiplied in one turn, as they arrive";
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
    add_number(kernel, "stages", wgmma_stages(request, products, stage_rows, tiles.n), "of both operands, on their way",
               "as many as shared memory holds beside a finished tile");
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

void choose_matmul_grid(const Request& request, KernelPlan& kernel, const Products& products) {
  const std::int64_t units = request.target.compute_units;
  const std::int64_t units_of_copies = compute_units_of_copies(request.target, products);
  const std::int64_t most = request.on_host()
                                ? host_compute_blocks
                                : blocks_side_by_side(request, kernel) / units * (units - units_of_copies);
  const auto tiles = tiles_of(request.problem, products, kernel.number("tile_m"), kernel.number("tile_n"));
  std::int64_t blocks = most;
  std::string reason = request.on_host() ? "enough to interleave" : "as many as run side by side";
  if (units_of_copies > 0) {
    reason += ", but for one compute unit: the runtime may make kernels of copies";
    if (const auto wanted = request.wanted("blocks"); wanted && *wanted > most) {
      refuse(request, "blocks",
             std::to_string(*wanted) +
                 " blocks leave no compute unit to copies, of which the runtime may make kernels; write " +
                 std::to_string(most) + " or less");
    }
  }
  if (tiles && *tiles < blocks) {
    blocks = std::max<std::int64_t>(1, *tiles);
    reason = "one for each of the " + std::to_string(*tiles) + " tiles";
  }
  decide(request, kernel, "blocks", blocks, "", std::move(reason));
  bound_grid(request, kernel);
}

void launch_blocks_with_tiles(const Request& request, KernelPlan& kernel, const Products& products) {
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t tile_n = kernel.number("tile_n");
  if (tiles_of(request.problem, products, tile_m, tile_n)) return;
  kernel.tiles = {products.rows, products.columns, tile_m, tile_n};
  const auto blocks = std::ranges::find(kernel.constants, "blocks", &Constant::name);
  blocks->reason += ", but no more than a launch has tiles";
}

namespace {

/// So many parts that those tiles of the fused multiply-adds which are left occupy all blocks.
std::int64_t parts_for_blocks(const Request& request, const Products& products, std::int64_t most) {
  constexpr std::int64_t of_any_size = 4;
  const Tiles usual = default_tiles(request);
  const std::int64_t tile_m = request.wanted("tile_m").value_or(usual.m);
  const std::int64_t tile_n = request.wanted("tile_n").value_or(usual.n);
  const auto count = tiles_of(request.typical(), products, tile_m, tile_n);
  if (!count) return std::min(of_any_size, most);
  const std::int64_t blocks = request.wanted("blocks").value_or(
      std::int64_t{request.target.compute_units} * blocks_of_unit(request.target, request.problem.accumulate));
  const std::int64_t left = *count % blocks;
  return left == 0 ? 1 : std::clamp<std::int64_t>(blocks / left, 1, most);
}

}  // namespace

std::int64_t choose_depth_parts(const Request& request, KernelPlan& kernel, const Products& products) {
  constexpr std::int64_t most_parts = 16;
  const FastLoop* loop = fast_loop_for(request, products).loop;
  const std::int64_t usual_depth = loop ? choose_for(*loop, request, products).tiles.k : default_tiles(request).k;
  const std::int64_t tile_k = request.wanted("tile_k").value_or(usual_depth);
  const auto k = static_length(request.typical(), {"k"});
  const std::int64_t slices = k ? std::max<std::int64_t>(1, divide_up(*k, tile_k)) : most_parts;
  const std::int64_t most = std::min<std::int64_t>({slices, most_parts, request.wanted("blocks").value_or(most_parts)});
  std::int64_t parts = std::min<std::int64_t>(2, most);
  if (loop && k) {
    const auto us_of = [&](std::int64_t count) {
      Products in_parts = products;
      in_parts.depth_parts = count;
      return choose_for(*loop, request, in_parts).us;
    };
    double best_us = us_of(parts);
    for (std::int64_t more = parts + 1; more <= most; ++more) {
      const double us = us_of(more);
      if (us >= best_us) continue;
      parts = more;
      best_us = us;
    }
  } else if (!request.on_host()) {
    parts = parts_for_blocks(request, products, most);
  }
  parts = decide(request, kernel, "parts", parts, "of each tile, along k",
                 request.on_host() ? "enough to interleave" : "occupy the compute units");
  if (loop && loop->main_loop == MainLoop::wgmma && parts > slices) {
    refuse(request, "parts",
           std::to_string(parts) + " parts, and k has " + std::to_string(slices) + " slices of " +
               std::to_string(tile_k) + "; write " + std::to_string(slices) + " or less");
  }
  return parts;
}

void choose_roles(const Request& request, KernelPlan& kernel, const Products& products, const std::string& role) {
  const bool host = request.on_host();
  const FastLoop* loop = fills_compute_unit(kernel) ? &fast_loop_of(kernel) : nullptr;
  const std::int64_t comm_blocks = request.wanted("comm_blocks")
                                       .value_or(host   ? host_comm_blocks
                                                 : loop ? choose_for(*loop, request, products).comm_blocks
                                                        : gpu_comm_blocks);
  const std::int64_t most = host ? comm_blocks + host_compute_blocks : blocks_side_by_side(request, kernel);
  const auto tiles = tiles_of(request.problem, products, kernel.number("tile_m"), kernel.number("tile_n"));
  std::int64_t blocks = most;
  std::string reason = host   ? "enough to interleave"
                       : loop ? "one on each compute unit: registers and shared memory leave no room for another"
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

bool has_roles(const KernelPlan& kernel) {
  return std::ranges::find(kernel.constants, "comm_blocks", &Constant::name) != kernel.constants.end();
}

std::int64_t multiplying_blocks(const KernelPlan& kernel) {
  return kernel.number("blocks") - (has_roles(kernel) ? kernel.number("comm_blocks") : 0);
}

Problem product_of(const Problem& problem, const Dimension& rows, const Dimension& columns) {
  const auto extent_of = [&](const Dimension& dimension) {
    iris::Extent extent = problem.extent(dimension.extent);
    extent.value = extent.value * dimension.factor / dimension.divisor;
    const std::int64_t multiple = extent.multiple * dimension.factor;
    extent.multiple = multiple % dimension.divisor == 0 ? multiple / dimension.divisor : 1;
    return extent;
  };
  return {.pattern = "matmul",
          .dtype = problem.dtype,
          .accumulate = problem.accumulate,
          .result = problem.result,
          .layout_b = problem.layout_b,
          .world = problem.world,
          .extents = {{"m", extent_of(rows)}, {"n", extent_of(columns)}, {"k", problem.extent("k")}}};
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
  for (const Dimension& dimension : shape) {
    bytes *= length(problem, dimension.extent) * static_cast<double>(dimension.factor) /
             static_cast<double>(dimension.divisor);
  }
  return bytes;
}

}  // namespace irisgen
