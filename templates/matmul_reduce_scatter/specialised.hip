#include <iris/device/reduce.hpp>
#include <iris/device/sync.hpp>
#include <iris/device/tile.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/128;
  static constexpr i32 comm_blocks = /*${comm_blocks}*/16;  // the last ones sum what arrives, the others multiply
  static constexpr i32 threads = /*${threads}*/256;
  static constexpr i32 residency = /*${residency}*/2;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  static constexpr i32 tile_m = /*${tile_m}*/64;
  static constexpr i32 tile_n = /*${tile_n}*/64;
  static constexpr i32 tile_k = /*${tile_k}*/16;
  using Element = /*${element}*/f32;
  using Accumulate = /*${accumulate}*/f32;
  static constexpr i32 compute_blocks = blocks - comm_blocks;
};

// Each rank has all m rows of its own A and B, and gets `rows` rows of the sum of all ranks' products. The rows of one
// destination are cut into tiles; a compute block's flag on a rank counts the tiles it has delivered there.
struct Problem {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * n, 16 / sizeof(Config::Accumulate)); }
  __device__ i64 columns() const { return divide_up(n, Config::tile_n); }
  __device__ i64 tiles() const { return divide_up(rows, Config::tile_m) * columns(); }
  __device__ u32 steps() const {
    return tiles() == 0 ? 1 : static_cast<u32>(divide_up(tiles(), Config::compute_blocks));
  }
  __device__ Corner corner(i64 tile) const {
    return {tile / columns() * Config::tile_m, tile % columns() * Config::tile_n};
  }
};

// Multiplies the tiles of the next rank's rows, then of the one after that, its own last, and pushes each into this
// rank's slot there. Tiles of all destinations form one sequence, dealt to the blocks in turn. The closing barrier
// makes sure that every rank has started this launch, and thus left the one before, before the next one refills the
// other half of the workspace.
__device__ bool multiply_tiles(const Context& context, const Epoch& epoch, const Problem& problem,
                               const Config::Element* a, const Config::Element* b, Config::Accumulate* slots) {
  const i64 tiles = problem.tiles();
  for (i64 work = block_index(); work < Config::world * tiles; work += Config::compute_blocks) {
    const i32 destination = rank_after<Config::world>(context, 1 + static_cast<i32>(work / tiles));
    const i64 tile = work % tiles;
    const Corner corner = problem.corner(tile);
    const Config::Element* const rows = a + destination * problem.rows * problem.k;
    const auto sums =
        multiply_tile<Config, Config::Element>({rows, problem.rows, problem.k}, {b, problem.k, problem.n}, corner);
    Config::Accumulate* const slot = on_rank(context, slots + context.rank * problem.slot(), destination);
    store_tile<Config, Config::Accumulate>({slot, problem.rows, problem.n}, corner, sums);
    const u32 count = epoch.step + static_cast<u32>(tile / Config::compute_blocks) + 1;
    block_signal(context, flag_of<Config>(block_index(), context.rank), count, destination);
  }
  return barrier<Config>(context, epoch.step + problem.steps(), Wait::exit);
}

// Waits until every rank has delivered its part of this tile.
__device__ bool wait_for_tile(const Context& context, const Epoch& epoch, const Problem& problem, i64 tile) {
  const u32 count = epoch.step + static_cast<u32>(tile / Config::compute_blocks) + 1;
  bool arrived = true;
  for (i32 hop = thread_index(); hop < Config::world; hop += Config::threads) {
    // The source that is `hop` + 1 ranks before this one made these rows in its sequence's part number `hop`.
    const i32 source = rank_after<Config::world>(context, Config::world - 1 - hop);
    const i64 block = (hop * problem.tiles() + tile) % Config::compute_blocks;
    arrived = wait(context, flag_of<Config>(block, source), count, source, Wait::step) && arrived;
  }
  return sync_block_and(arrived);
}

template <i32 width>
__device__ void sum_tile(const Problem& problem, i64 tile, const Config::Accumulate* slots, Config::Element* output) {
  const Config::Accumulate* sources[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) sources[rank] = slots + rank * problem.slot();
  for_each_pack_of_tile<Config, width>(problem.rows, problem.n, problem.corner(tile), [&](const auto& turn) {
    store(output, turn, load_and_reduce<Config, Sum>(sources, turn));
  });
}

__device__ bool sum_tiles(const Context& context, const Epoch& epoch, const Problem& problem,
                          const Config::Accumulate* slots, Config::Element* output) {
  constexpr i32 width = 16 / sizeof(Config::Accumulate);
  for (i64 tile = block_index() - Config::compute_blocks; tile < problem.tiles(); tile += Config::comm_blocks) {
    if (!wait_for_tile(context, epoch, problem, tile)) return false;
    if (problem.n % width == 0) {
      sum_tile<width>(problem, tile, slots, output);
    } else {
      sum_tile<1>(problem, tile, slots, output);
    }
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/matmul_reduce_scatter_specialised(Context context, const Config::Element* a, const Config::Element* b,
                                               Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/4096;
  const i64 n = /*${n}*/4096;
  const i64 k = /*${k}*/1024;
  const Problem problem = {m / Config::world, n, k};
  const Epoch epoch = begin_launch(context);
  Config::Accumulate* const slots = workspace_half<Config::Accumulate>(context, epoch);
  const bool done = block_index() < Config::compute_blocks ? multiply_tiles(context, epoch, problem, a, b, slots)
                                                           : sum_tiles(context, epoch, problem, slots, output);
  if (done) end_launch(context, epoch, problem.steps());
}
