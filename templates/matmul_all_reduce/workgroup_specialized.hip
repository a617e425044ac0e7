#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/tile.hpp>

#include "../sample_config.hpp"

constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;

// Each rank sums the tiles of its shard of the rows and gives the result to all. A compute block's flag on a rank shows
// which tiles of that rank's shard it has delivered there. The shards differ by a row of tiles at most; the first is
// the longest, and tiles are numbered as if all were as long.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ Range rows(i32 rank) const { return shard_of(m, Config::world, rank, Config::tile_m); }
  __device__ i64 slot() const { return round_up(rows(0).end * n, 16 / sizeof(Config::Accumulate)); }
  __device__ i64 columns() const { return divide_up(n, Config::tile_n); }
  __device__ i64 tiles() const { return divide_up(rows(0).end, Config::tile_m) * columns(); }
  __device__ u32 step(i64 tile) const { return static_cast<u32>(tile / compute_blocks); }
  __device__ TileOrigin origin(i64 tile) const {
    return {tile / columns() * Config::tile_m, tile % columns() * Config::tile_n};
  }
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// Multiplies the tiles of the next rank's rows, then of the one after that, its own last, and pushes each into this
// rank's slot there. Tiles of all destinations form one sequence that goes round the blocks.
__device__ __forceinline__ void multiply_tiles(const Launch<Config>& launch, const Shape& shape,
                                               const Config::Element* a, const Config::Element* b,
                                               Config::Accumulate* slots) {
  const Context& context = launch.context;
  const i64 tiles = shape.tiles();
  for (i64 work = block_index(); work < Config::world * tiles; work += compute_blocks) {
    const i32 offset = static_cast<i32>(work / tiles) + 1;
    const i32 destination = peer_at<Config::world>(context, offset == Config::world ? 0 : offset);
    const Range shard = shape.rows(destination);
    const i64 rows = shard.end - shard.begin;
    const i64 tile = work % tiles;
    const TileOrigin origin = shape.origin(tile);
    if (origin.row >= rows) continue;
    const auto sums =
        multiply_tile<Config>(dense(a + shard.begin * shape.k, rows, shape.k), dense(b, shape.k, shape.n), origin);
    Config::Accumulate* const slot = on_rank(context, slots + context.rank * shape.slot(), destination);
    store_tile<Config>(dense(slot, rows, shape.n), origin, sums);
    block_signal_release(launch, shape.flag(block_index(), context.rank), shape.step(tile), destination);
  }
}

// Waits until every rank has delivered its product of this tile.
__device__ __forceinline__ bool wait_for_tile(const Launch<Config>& launch, const Shape& shape, i64 tile) {
  bool arrived = true;
  for (i32 turn = thread_index(); turn < Config::world; turn += Config::threads) {
    // These rows are destination number `turn` of the source that is turn + 1 ranks before this one.
    const i32 source = peer_at<Config::world>(launch.context, Config::world - 1 - turn);
    const i64 block = (turn * shape.tiles() + tile) % compute_blocks;
    arrived = wait_acquire(launch, shape.flag(block, source), shape.step(tile), source, Wait::step) && arrived;
  }
  return sync_block_and(arrived);
}

template <i32 width>
__device__ __forceinline__ void sum_tile(const Context& context, const Shape& shape, i64 tile,
                                         const Config::Accumulate* slots, Config::Result* output) {
  const Range shard = shape.rows(context.rank);
  Config::Result* const result = output + shard.begin * shape.n;
  const Config::Accumulate* sources[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) sources[rank] = slots + rank * shape.slot();
  for_each_pack_of_tile<Config, width>(
      dense(result, shard.end - shard.begin, shape.n), shape.origin(tile), [&](const auto& index) {
        const auto sums = load_and_reduce<Config, Sum>(sources, index);
#pragma unroll
        for (i32 offset = 0; offset < Config::world; ++offset) {
          store(on_rank(context, result, peer_at<Config::world>(context, offset)), index, sums);
        }
      });
}

// A tile has come from every rank, so every rank has started this launch: its output may be written. The closing
// barrier tells that all tiles of all ranks have arrived here, and that nobody is still in the launch before, whose
// ping-pong buffer the next one refills.
__device__ __forceinline__ void sum_tiles(Launch<Config>& launch, const Shape& shape, const Config::Accumulate* slots,
                                          Config::Result* output) {
  constexpr i32 width = 16 / sizeof(Config::Accumulate);
  const Range shard = shape.rows(launch.context.rank);
  const i64 tiles = divide_up(shard.end - shard.begin, Config::tile_m) * shape.columns();
  for (i64 tile = block_index() - compute_blocks; tile < tiles; tile += Config::comm_blocks) {
    if (!wait_for_tile(launch, shape, tile)) return;
    if (shape.n % width == 0) {
      sum_tile<width>(launch.context, shape, tile, slots, output);
    } else {
      sum_tile<1>(launch.context, shape, tile, slots, output);
    }
  }
  same_block_barrier(launch, Wait::exit);
}

// The last blocks sum what arrives, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       Config::Result* output, i64 m, i64 n, i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  Config::Accumulate* const slots = launch.workspace<Config::Accumulate>();
  if (block_index() < compute_blocks) {
    multiply_tiles(launch, shape, a, b, slots);
  } else {
    sum_tiles(launch, shape, slots, output);
  }
}
