#include <algorithm>

#include "generator/plan/loop_times.hpp"
#include "generator/plan/matmul_planning.hpp"

// How many blocks multiply, how many do something else, and in how many parts blocks make a tile.
namespace irisgen {
namespace {

constexpr int blocks_per_unit = 2;
constexpr int host_comm_blocks = 2;
constexpr int host_compute_blocks = 3;

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
  Products in_parts = products;
  in_parts.depth_parts = request.wanted("parts").value_or(2);
  const FastLoop* loop = fast_loop_for(request, in_parts).loop;
  const std::int64_t usual_depth = loop ? choose_for(*loop, request, in_parts).tiles.k : default_tiles(request).k;
  const std::int64_t tile_k = request.wanted("tile_k").value_or(usual_depth);
  const auto k = static_length(request.typical(), {"k"});
  const std::int64_t slices = k ? std::max<std::int64_t>(1, divide_up(*k, tile_k)) : most_parts;
  const std::int64_t most = std::min<std::int64_t>({slices, most_parts, request.wanted("blocks").value_or(most_parts)});
  std::int64_t parts = std::min<std::int64_t>(2, most);
  if (loop && k && !request.wanted("parts")) {
    const auto us_of = [&](std::int64_t count) {
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
  decide(request, kernel, "blocks", blocks, "", std::move(reason));
  decide(request, kernel, "comm_blocks", comm_blocks, "that " + role, "blocks that " + role);
  bound_grid(request, kernel);
  check_comm_blocks(request, kernel, role, "multiply");
}

bool has_roles(const KernelPlan& kernel) {
  return kernel.has("comm_blocks");
}

std::int64_t multiplying_blocks(const KernelPlan& kernel) {
  return kernel.number("blocks") - (has_roles(kernel) ? kernel.number("comm_blocks") : 0);
}

}  // namespace irisgen
