#include "generator/plan/lines.hpp"
#include "generator/plan/loop_times.hpp"
#include "generator/plan/matmul_planning.hpp"

// How much room products' kernels have on the heap, in the layouts of device/main_loop/.
namespace irisgen {
namespace {

/// An extent cut into pieces of so many.
struct Cut {
  std::string extent;
  std::int64_t size;

  /// How many, if the extent is known; else one, beside the whole pieces.
  std::int64_t fixed(const Problem& problem) const {
    const auto length = static_length(problem, {extent});
    return length ? divide_up(*length, size) : 1;
  }
  bool is_dynamic(const Problem& problem) const { return !static_length(problem, {extent}); }
};

/// So many slots, with `bytes` for each piece of both cuts.
iris::ByteSize slots_of(const Problem& problem, std::int64_t slots, const Cut& down, const Cut& across,
                        std::int64_t bytes) {
  bytes *= slots;
  const bool more_down = down.is_dynamic(problem);
  const bool more_across = across.is_dynamic(problem);
  iris::ByteSize size = {.terms = {{bytes * down.fixed(problem) * across.fixed(problem), {}}}};
  if (more_down) size.terms.push_back({divide_up(bytes * across.fixed(problem), down.size), {down.extent}});
  if (more_across) size.terms.push_back({divide_up(bytes * down.fixed(problem), across.size), {across.extent}});
  if (more_down && more_across) {
    size.terms.push_back({divide_up(bytes, down.size * across.size), {down.extent, across.extent}});
  }
  return size;
}

/// m over the ranks, in whole tiles.
Cut rows_of_ranks(const Problem& problem, const KernelPlan& kernel) {
  return {"m", kernel.number("tile_m") * problem.world};
}

}  // namespace

iris::ByteSize slots_of_tiles(const Problem& problem, const KernelPlan& kernel) {
  const std::int64_t tile_n = kernel.number("tile_n");
  return slots_of(problem, 2 * std::int64_t{problem.world}, rows_of_ranks(problem, kernel), {"n", tile_n},
                  kernel.number("tile_m") * tile_n * iris::bytes_of(problem.result));
}

iris::ByteSize slots_of_divided_tiles(const Problem& problem, const KernelPlan& kernel) {
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t bytes = tile_m * tile_n * iris::bytes_of(problem.result);
  iris::ByteSize size = slots_of(problem, 2, {"m", tile_m}, {"n", tile_n}, bytes);
  size.terms.push_back({2 * bytes * (problem.world - 1), {}});  // each slot has room for as many tiles as any
  return size;
}

iris::ByteSize slots_of_rows(const Problem& problem, const KernelPlan& kernel, int slots) {
  // As Gathered of the main loops in device/main_loop/.
  if (kernel.main_loop() != MainLoop::wgmma) {
    return workspace_of(problem, slots, {{"m", 1, slots}, {"k"}}, problem.dtype,
                        static_cast<int>(kernel.number("vector")));
  }
  const std::int64_t tile_k = kernel.number("tile_k");
  return slots_of(problem, 2 * std::int64_t{slots}, {"m", kernel.number("tile_m") * slots}, {"k", tile_k},
                  kernel.number("stage_rows") * tile_k * iris::bytes_of(problem.dtype));
}

std::int64_t lines_of_tile_row(const KernelPlan& kernel) {
  return divide_up(kernel.number("tile_n"), kernel.number("line"));
}

iris::ByteSize mailboxes_of_tiles(const Problem& problem, const KernelPlan& kernel, const MailboxRows& rows) {
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t slots = 2 * std::int64_t{problem.world} * rows.mailboxes;
  iris::ByteSize size =
      slots_of(problem, slots, {"m", rows.of}, {"n", tile_n}, rows.rows * lines_of_tile_row(kernel) * line_size);
  if (kernel.main_loop() != MainLoop::wgmma) {
    const std::int64_t images = kernel.number("blocks") * kernel.number("tile_m") * tile_n;
    size.terms.push_back({2 * round_up(images * iris::bytes_of(problem.result), access_bytes), {}});
  }
  return size;
}

iris::ByteSize sums_of_parts(const Problem& problem, const KernelPlan& kernel) {
  const std::int64_t tile_m = kernel.number("tile_m");
  const std::int64_t tile_n = kernel.number("tile_n");
  const std::int64_t blocks = kernel.number("blocks");
  const auto rows = static_length(problem, {"m"});
  const auto columns = static_length(problem, {"n"});
  const std::int64_t of_tile = kernel.number("parts");
  std::int64_t parts = of_tile > 1 ? blocks : 0;  // the most there can be
  if (rows && columns) parts = parts_left(divide_up(*rows, tile_m) * divide_up(*columns, tile_n), of_tile, blocks);
  return {.terms = {{parts * tile_m * tile_n * iris::bytes_of(problem.accumulate), {}}}};
}

}  // namespace irisgen
