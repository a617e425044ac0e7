#include <algorithm>

#include "generator/plan/loop_times.hpp"
#include "generator/plan/matmul_planning.hpp"

// How long the kernels of products take, beside what they send.
namespace irisgen {
namespace {

/// The products, where their operands are at hand.
double computing_us(const Problem& problem, const Target& target, const KernelPlan& kernel, const Products& products) {
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t comm_blocks = products.moves_by_blocks ? kernel.number("comm_blocks") : 0;
  const std::int64_t all_blocks = kernel.number("blocks");
  const std::int64_t side_by_side =
      target.platform == Platform::host ? all_blocks : blocks_side_by_side(target, kernel, problem.accumulate);
  const std::int64_t blocks = std::max<std::int64_t>(1, std::min(all_blocks, side_by_side) - comm_blocks);
  const Tiles of_kernel = {tile_m, tile_n, kernel.number("tile_k"), 0, 0};
  const Turns turns = turns_of(problem, products, of_kernel, blocks);
  const bool sends_first = products.sends_beside && kernel.main_loop() != MainLoop::wgmma;
  const double before_us = sends_first ? products.sent_bytes / target.rates.link_gbs / 1e3 : 0;
  if (fills_compute_unit(kernel)) {
    const FastLoop& loop = fast_loop_of(kernel);
    return before_us + with_links(loop, problem, target, products, comm_blocks, blocks, of_kernel,
                                  turns_us(loop, problem, target, products, blocks, of_kernel));
  }
  const double f64_weight = problem.accumulate == Dtype::f64 ? 2 : 1;
  const double tile_flops = 2.0 * static_cast<double>(tile_m * tile_n) * length(problem, "k") * f64_weight;
  const double tile_us = tile_flops * static_cast<double>(side_by_side) / target.main_loop_tflops / 1e6;
  const double part_us =
      tile_us / static_cast<double>(products.depth_parts) + adding_us(problem, target, products, of_kernel);
  return before_us + static_cast<double>(turns.of_tiles) * tile_us + static_cast<double>(turns.of_parts) * part_us;
}

/// Of few rows, all in the last turn: until tiles have left, and been summed or told of. Measured on two and on four
/// H100s, sums on four H200s, too.
double after_last_turn_us(const Target& target, const Products& products) {
  if (products.shipped_bytes == 0) return 0;
  const double link_us = products.shipped_bytes / target.rates.link_gbs / 1e3;
  const double by_others_us = products.moves_by_blocks ? 3 : 0;  // where blocks that do not multiply do it: assumed
  return by_others_us + (products.sums_tiles ? 3.7 + std::max(1.8, link_us) : 4.1 + std::max(1.0, link_us));
}

/// To read B from memory, and what becomes of few rows. A B that no cache holds is read once more for most ranks whose
/// rows are late, and in part for others whose rows are tiles of their own.
double reading_b_us(const Problem& problem, const Target& target, const Products& products) {
  constexpr double cache_bytes = 50 << 20;  // of an H100 and of an H200
  // Measured on two and on four H200s.
  constexpr double for_late_rows = 1.1;
  constexpr double for_each_late_rank = 0.4;
  constexpr double for_other_rows = 0.2;  // measured on two H100s and on four H200s
  const double bytes = matrix_bytes(problem, {{"k"}, products.columns}, problem.dtype);
  if (!target.measured) return reading_us(target, bytes);
  const double times = bytes <= cache_bytes || products.count == 1 ? 1
                       : products.gathers_rows                     ? for_late_rows + for_each_late_rank * products.count
                                                                   : 1 + for_other_rows * (products.count - 1);
  return reading_us(target, times * bytes) + after_last_turn_us(target, products);
}

}  // namespace

double multiply_us(const Problem& problem, const Target& target, const KernelPlan& kernel, const Products& products) {
  return std::max(computing_us(problem, target, kernel, products), reading_b_us(problem, target, products));
}

double summing_us(const KernelPlan& kernel, double bytes) {
  constexpr double thread_gbs = 0.075;  // measured on H200s, with eight accesses of a thread in flight
  const auto threads = static_cast<double>(kernel.number("comm_blocks") * kernel.number("threads"));
  return bytes / (threads * thread_gbs) / 1e3;
}

}  // namespace irisgen
