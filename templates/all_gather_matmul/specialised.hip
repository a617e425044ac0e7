#include <iris/device/sync.hpp>
#include <iris/device/tile.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/128;
  static constexpr i32 comm_blocks = /*${comm_blocks}*/16;  // the first ones push rows, the others multiply
  static constexpr i32 threads = /*${threads}*/256;
  static constexpr i32 residency = /*${residency}*/2;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  static constexpr i32 unroll = /*${unroll}*/4;  // accesses in flight
  static constexpr i32 tile_m = /*${tile_m}*/64;
  static constexpr i32 tile_n = /*${tile_n}*/64;
  static constexpr i32 tile_k = /*${tile_k}*/16;
  using Element = /*${element}*/f32;
  using Accumulate = /*${accumulate}*/f32;
};

// Each rank has `rows` rows of A and all of B. Rows travel in chunks of tile_m; chunk c belongs to communication block
// c mod comm_blocks, whose flag counts the chunks it has delivered.
struct Problem {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * k, Config::vector); }  // elements of a rank's rows when gathered
  __device__ i64 chunks() const { return divide_up(rows, Config::tile_m); }
  __device__ u32 steps() const { return rows == 0 ? 1 : static_cast<u32>(divide_up(chunks(), Config::comm_blocks)); }
};

// Pushes this rank's rows into its slot on every other rank. The closing barrier makes sure that every rank has started
// this launch, and thus left the one before, before the next one refills the other half of the workspace.
__device__ bool share_rows(const Context& context, const Epoch& epoch, const Problem& problem, const Config::Element* a,
                           Config::Element* gathered) {
  Config::Element* const slot = gathered + context.rank * problem.slot();
  u32 count = epoch.step;
  for (i64 chunk = block_index(); chunk < problem.chunks(); chunk += Config::comm_blocks) {
    const Range elements = piece({0, problem.rows * problem.k}, chunk, Config::tile_m * problem.k);
    for_each_pack<Config::vector, Config::unroll>(block_team<Config>(), elements, [&](const auto& turn) {
      const auto values = load(a, turn);
#pragma unroll
      for (i32 hop = 1; hop < Config::world; ++hop) {
        store(on_rank(context, slot, rank_after<Config::world>(context, hop)), turn, values);
      }
    });
    block_signal_all<Config>(context, flag_of<Config>(block_index(), context.rank), ++count);
  }
  return barrier<Config>(context, epoch.step + problem.steps(), Wait::exit);
}

// Multiplies tile by tile: this rank's own rows first, then those of the ranks after it as they arrive.
__device__ bool multiply_rows(const Context& context, const Epoch& epoch, const Problem& problem,
                              const Config::Element* a, const Config::Element* gathered, const Config::Element* b,
                              Config::Element* output) {
  constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;
  const i64 columns = divide_up(problem.n, Config::tile_n);
  const i64 tiles = problem.chunks() * columns;  // of one rank's rows
  for (i64 work = block_index() - Config::comm_blocks; work < Config::world * tiles; work += compute_blocks) {
    const i32 hop = static_cast<i32>(work / tiles);
    const i32 source = rank_after<Config::world>(context, hop);
    const i64 chunk = work % tiles / columns;
    if (hop != 0) {
      const i64 flag = flag_of<Config>(chunk % Config::comm_blocks, source);
      const u32 count = epoch.step + static_cast<u32>(chunk / Config::comm_blocks) + 1;
      if (!block_wait(context, flag, count, source, Wait::step)) return false;
    }
    const Config::Element* const rows = hop == 0 ? a : gathered + source * problem.slot();
    const Corner corner = {chunk * Config::tile_m, work % columns * Config::tile_n};
    const auto sums =
        multiply_tile<Config, Config::Element>({rows, problem.rows, problem.k}, {b, problem.k, problem.n}, corner);
    Config::Element* const product = output + source * problem.rows * problem.n;
    store_tile<Config, Config::Element>({product, problem.rows, problem.n}, corner, sums);
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_gather_matmul_specialised(Context context, const Config::Element* a, const Config::Element* b,
                                           Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/4096;
  const i64 n = /*${n}*/4096;
  const i64 k = /*${k}*/1024;
  const Problem problem = {m / Config::world, n, k};
  const Epoch epoch = begin_launch(context);
  Config::Element* const gathered = workspace_half<Config::Element>(context, epoch);
  const bool done = block_index() < Config::comm_blocks
                        ? share_rows(context, epoch, problem, a, gathered)
                        : multiply_rows(context, epoch, problem, a, gathered, b, output);
  if (done) end_launch(context, epoch, problem.steps());
}
