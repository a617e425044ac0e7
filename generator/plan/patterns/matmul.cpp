#include "generator/plan/patterns/matmul.hpp"

#include <algorithm>

#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

constexpr std::int64_t access_bytes = 16;

struct Tiles {
  int m, n, k, threads;
};

constexpr Tiles gpu_tiles = {64, 64, 16, 256};
/// Fibers of the CPU change at every slice of a tile: larger tiles where there is much to multiply.
constexpr Tiles small_host_tiles = {16, 16, 16, 16};
constexpr Tiles large_host_tiles = {32, 32, 32, 16};
constexpr double large_host_flops = 4e6;

constexpr int gpu_comm_blocks = 16;
constexpr int gpu_blocks_per_unit = 2;
/// Sums in f64 take twice the registers, of which an NVIDIA multiprocessor has half as many as an AMD CU.
constexpr int nvidia_f64_blocks_per_unit = 1;
constexpr int host_comm_blocks = 2;
constexpr int host_compute_blocks = 3;

bool on_host(const Plan& plan) {
  return plan.target->platform == Platform::host;
}

Tiles default_tiles(const Plan& plan) {
  if (!on_host(plan)) return gpu_tiles;
  return is_static(plan.kernel) && matmul_flops(plan.kernel) > large_host_flops ? large_host_tiles : small_host_tiles;
}

/// As device/mma.hpp deals a tile to the threads.
int fragment_columns(int elements) {
  int side = 1;
  while (4 * side * side <= elements) side *= 2;
  return side;
}

int blocks_per_unit(const Plan& plan) {
  const bool few_registers = plan.target->platform == Platform::nvidia && plan.kernel.accumulate == Dtype::f64;
  return few_registers ? nvidia_f64_blocks_per_unit : gpu_blocks_per_unit;
}

std::string size_text(const Tiles& tiles) {
  return std::to_string(tiles.m) + " x " + std::to_string(tiles.n) + " x " + std::to_string(tiles.k);
}

void check_fragment(const Plan& plan, const Tiles& tiles) {
  constexpr int most_sums = 64;  // more spill out of the registers
  const int sums = tiles.m * tiles.n / tiles.threads;
  if (sums < 1 || sums > most_sums || sums * tiles.threads != tiles.m * tiles.n) {
    refuse(plan, "a tile of " + size_text(tiles) + " for " + std::to_string(tiles.threads) +
                     " threads; tile_m * tile_n must be a multiple of threads, from 1 to " + std::to_string(most_sums) +
                     " times as many");
  }
  const int columns = fragment_columns(sums);
  const int rows = sums / columns;
  if (tiles.n % columns != 0 || tiles.m % rows != 0) {
    refuse(plan, "a tile of " + size_text(tiles) + " cannot be cut into " + std::to_string(tiles.threads) +
                     " rectangles of " + std::to_string(rows) + " x " + std::to_string(columns) +
                     "; write powers of two for tile_m, tile_n and threads");
  }
}

void check_shared_memory(const Plan& plan, const Tiles& tiles) {
  if (on_host(plan)) return;
  const std::int64_t limit = (plan.target->platform == Platform::nvidia ? 48 : 64) << 10;
  const std::int64_t value = bytes_of(plan.kernel.accumulate);
  const std::int64_t bytes = tiles.k * (tiles.m + tiles.n + 2 * access_bytes / value) * value;
  if (bytes <= limit) return;
  refuse(plan, "tiles of " + size_text(tiles) + " take " + std::to_string(bytes) +
                   " bytes of shared memory; a block has " + std::to_string(limit) + ", write a smaller tile_k");
}

}  // namespace

void check_rows(const KernelSpec& kernel, Report& report) {
  if (kernel.m.dynamic) return;
  for (const int world : kernel.worlds) {
    const std::int64_t rest = kernel.m.value % world;
    if (rest == 0) continue;
    report.error(kernel.m.where, "m = " + std::to_string(kernel.m.value) + " rows cannot be divided among " +
                                     std::to_string(world) + " ranks; write " +
                                     std::to_string(kernel.m.value - rest + world) + ", the next multiple");
  }
}

int choose_tiles(Plan& plan) {
  const ConfigSpec& config = plan.kernel.config;
  const Tiles fallback = default_tiles(plan);
  const Tiles tiles = {config.tile_m.value_or(fallback.m), config.tile_n.value_or(fallback.n),
                       config.tile_k.value_or(fallback.k), config.threads.value_or(fallback.threads)};
  plan.threads = tiles.threads;
  plan.choices.push_back({"threads", std::to_string(plan.threads), reason_for(config.threads, "suits the tile")});
  const std::string reason = on_host(plan) ? "few changes of fiber for the multiplications between them"
                                           : "a square in registers for each thread, slices in shared memory";
  decide(plan, "tile_m", tiles.m, reason_for(config.tile_m, reason));
  decide(plan, "tile_n", tiles.n, reason_for(config.tile_n, reason));
  decide(plan, "tile_k", tiles.k, reason_for(config.tile_k, reason));
  check_fragment(plan, tiles);
  check_shared_memory(plan, tiles);

  const int vector = choose_vector(plan, plan.kernel.dtype);
  const int widest = std::max(vector, static_cast<int>(access_bytes / bytes_of(plan.kernel.accumulate)));
  if (tiles.m % widest != 0 || tiles.n % widest != 0 || tiles.k % vector != 0) {
    refuse(plan, "tiles of " + size_text(tiles) + " cut accesses of 16 bytes; write multiples of " +
                     std::to_string(widest) + " for tile_m, tile_n and tile_k");
  }
  return vector;
}

void choose_roles(Plan& plan, std::string_view role) {
  const ConfigSpec& config = plan.kernel.config;
  const bool host = on_host(plan);
  const int comm_blocks = config.comm_blocks.value_or(host ? host_comm_blocks : gpu_comm_blocks);
  const int per_unit = blocks_per_unit(plan);
  const int most = host ? comm_blocks + host_compute_blocks : per_unit * plan.target->compute_units;
  std::int64_t blocks = most;
  std::string reason = host            ? "enough to interleave"
                       : per_unit == 1 ? "one on each compute unit: sums in f64 take many registers"
                                       : "two on each compute unit";
  if (is_static(plan.kernel)) {
    const auto tiles_of = [](std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; };
    const std::int64_t rows = plan.kernel.m.value / plan.world;
    const std::int64_t tiles = plan.world * tiles_of(rows, std::stoll(plan.substitutions["tile_m"])) *
                               tiles_of(plan.kernel.n.value, std::stoll(plan.substitutions["tile_n"]));
    if (comm_blocks + tiles < most) {
      blocks = comm_blocks + std::max<std::int64_t>(1, tiles);
      reason = "one for each of the " + std::to_string(tiles) + " tiles, and those that " + std::string(role);
    }
  }
  plan.blocks = config.blocks.value_or(static_cast<int>(blocks));
  plan.choices.push_back({"blocks", std::to_string(plan.blocks), reason_for(config.blocks, reason)});
  decide(plan, "comm_blocks", comm_blocks, reason_for(config.comm_blocks, "blocks that " + std::string(role)));
  check_grid(plan);
  if (comm_blocks < 1 || comm_blocks >= plan.blocks) {
    refuse(plan, std::to_string(comm_blocks) + " of " + std::to_string(plan.blocks) + " blocks " + std::string(role) +
                     "; comm_blocks must be from 1 to " + std::to_string(plan.blocks - 1) +
                     ", so that some are left to multiply");
  }
}

double matmul_flops(const KernelSpec& kernel) {
  const double multiply_adds =
      static_cast<double>(kernel.m.value) * static_cast<double>(kernel.n.value) * static_cast<double>(kernel.k.value);
  constexpr double f64_rate = 0.5;
  return 2 * multiply_adds / (kernel.accumulate == Dtype::f64 ? f64_rate : 1);
}

bool is_static(const KernelSpec& kernel) {
  return !kernel.m.dynamic && !kernel.n.dynamic && !kernel.k.dynamic;
}

Argument matrix(const Plan& plan, const char* name, Access access, Argument::Dimension rows,
                Argument::Dimension columns) {
  return {.name = name,
          .access = access,
          .dtype = plan.kernel.dtype,
          .shape = {rows, columns},
          .symmetric = false,
          .alignment = static_cast<int>(access_bytes)};
}

}  // namespace irisgen
