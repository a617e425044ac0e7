#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/tile.hpp>

#include "../sample_config.hpp"

constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;

// Each rank has all rows of its own A and B, and gets `rows` rows of the sum of all ranks' products. The rows of one
// destination are cut into tiles; a compute block's flag on a rank shows which of them it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * n, 16 / sizeof(Config::Accumulate)); }
  __device__ i64 columns() const { return divide_up(n, Config::tile_n); }
  __device__ i64 tiles() const { return divide_up(rows, Config::tile_m) * columns(); }
  __device__ u32 step(i64 tile) const { return static_cast<u32>(tile / compute_blocks); }
  __device__ TileOrigin origin(i64 tile) const {
    return {tile / columns() * Config::tile_m, tile % columns() * Config::tile_n};
  }
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// Multiplies the tiles of the next rank's rows, then of the one after that, its own last, and pushes each into this
// rank's slot there. Tiles of all destinations form one sequence that goes round the blocks. The closing barrier makes
// sure that every rank has started this launch, and thus left the one before, before the next one refills the other
// ping-pong buffer.
__device__ __forceinline__ void multiply_tiles(Launch<Config>& launch, const Shape& shape, const Config::Element* a,
                                               const Config::Element* b, Config::Accumulate* slots) {
  const Context& context = launch.context;
  const i64 tiles = shape.tiles();
  for (i64 work = block_index(); work < Config::world * tiles; work += compute_blocks) {
    const i32 offset = static_cast<i32>(work / tiles) + 1;
    const i32 destination = peer_at<Config::world>(context, offset == Config::world ? 0 : offset);
    const i64 tile = work % tiles;
    const TileOrigin origin = shape.origin(tile);
    const Config::Element* const rows = a + destination * shape.rows * shape.k;
    const auto sums = multiply_tile<Config>(dense(rows, shape.rows, shape.k), dense(b, shape.k, shape.n), origin);
    Config::Accumulate* const slot = on_rank(context, slots + context.rank * shape.slot(), destination);
    store_tile<Config>(dense(slot, shape.rows, shape.n), origin, sums);
    block_signal_release(launch, shape.flag(block_index(), context.rank), shape.step(tile), destination);
  }
  same_block_barrier(launch, Wait::exit);
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
__device__ __forceinline__ void sum_tile(const Shape& shape, i64 tile, const Config::Accumulate* slots,
                                         Config::Result* output) {
  const Config::Accumulate* sources[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) sources[rank] = slots + rank * shape.slot();
  for_each_pack_of_tile<Config, width>(dense(output, shape.rows, shape.n), shape.origin(tile), [&](const auto& index) {
    store(output, index, load_and_reduce<Config, Sum>(sources, index));
  });
}

__device__ __forceinline__ void sum_tiles(const Launch<Config>& launch, const Shape& shape,
                                          const Config::Accumulate* slots, Config::Result* output) {
  constexpr i32 width = 16 / sizeof(Config::Accumulate);
  for (i64 tile = block_index() - compute_blocks; tile < shape.tiles(); tile += Config::comm_blocks) {
    if (!wait_for_tile(launch, shape, tile)) return;
    if (shape.n % width == 0) {
      sum_tile<width>(shape, tile, slots, output);
    } else {
      sum_tile<1>(shape, tile, slots, output);
    }
  }
}

// The last blocks sum what arrives, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       Config::Result* output, i64 m, i64 n, i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Config::Accumulate* const slots = launch.workspace<Config::Accumulate>();
  if (block_index() < compute_blocks) {
    multiply_tiles(launch, shape, a, b, slots);
  } else {
    sum_tiles(launch, shape, slots, output);
  }
}
