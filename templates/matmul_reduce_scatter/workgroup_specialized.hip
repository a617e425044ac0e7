#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;

// Each rank has all rows of its own A and B, and gets `rows` rows of the sum of all ranks' products. The rows of one
// destination are cut into tiles; a compute block's flag on a rank shows which of them it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 tiles() const { return tiles_of<Config>(rows, n); }
  __device__ i64 slot() const { return tiles() * image_elements<Config>; }  // for all tiles from one rank
  // Of all ranks' rows, in the order in which every rank makes them: part 0 is for the next rank, the last for itself.
  __device__ TilesOfParts sequence() const { return {tiles(), Config::world}; }
  __device__ TileOrigin origin(i64 tile) const { return tile_at<Config>(tile, rows, n); }
  __device__ i64 rows_of(i64 tile) const { return rows_of_tile<Config>(rows, origin(tile).row); }
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// A tile for each of the other ranks and one of its own, in turn, so that the links are busy all the time. Each tile
// goes to this rank's slot at its destination. The sequence goes round the blocks.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> a;
  Operand<Config> b;
  Config::Result* slots;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    i32 destination;
    i64 index;  // among that rank's tiles
    u32 step;   // of the block
  };

  __device__ i64 count() const { return Config::world * shape.tiles(); }
  __device__ Tile at(i64 number) const {
    const auto [part, index] = shape.sequence().at(number);
    const i32 offset = part + 1 == Config::world ? 0 : part + 1;
    return {peer_at<Config::world>(launch.context, offset), index, static_cast<u32>(number / compute_blocks)};
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    return {a.rows(tile.destination * shape.rows, shape.rows), b, shape.origin(tile.index)};
  }
  __device__ TileImage<Config::Result> place(const Tile& tile) const {
    Config::Result* const image = slots + launch.context.rank * shape.slot() + tile.index * image_elements<Config>;
    return {heap_on_rank(launch.context, image, tile.destination), shape.rows_of(tile.index),
            tile.destination != launch.context.rank};
  }
  __device__ void tell(const Tile& tile) const {
    const i64 flag = shape.flag(block_index(), launch.context.rank);
    signal_release(launch, flag, tile.step, tile.destination);
  }
};

// Waits until every rank has delivered its product of this tile.
__device__ __forceinline__ bool wait_for_tile(const Launch<Config>& launch, const Shape& shape, i64 tile) {
  bool arrived = true;
  for (i32 part = thread_index(); part < Config::world; part += Config::threads) {
    // These rows are that part of the rank that is part + 1 before this one.
    const i32 source = peer_at<Config::world>(launch.context, Config::world - 1 - part);
    const i64 number = shape.sequence().number({part, tile});
    const u32 step = static_cast<u32>(number / compute_blocks);
    arrived = wait_acquire(launch, shape.flag(number % compute_blocks, source), step, source, Wait::step) && arrived;
  }
  return sync_block_and(arrived);
}

template <i32 width>
__device__ __forceinline__ void sum_tile(const Shape& shape, i64 tile, const Config::Result* slots,
                                         const Output<Config>& output) {
  const Config::Result* sources[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) {
    sources[rank] = slots + rank * shape.slot() + tile * image_elements<Config>;
  }
  const TileOrigin origin = shape.origin(tile);
  const auto result = dense(output.data, shape.rows, shape.n);
  for_each_pack_of_tile<Config, width>(block_threads<Config>(), result, origin, [&](const auto& packs) {
    const auto sums = load_and_reduce<Config, Sum>(sources, image_index<Config>(packs));
    const auto index = packs.index(shape.n, origin);
    store(output.data, index, output.finish(index, sums));
  });
}

__device__ __forceinline__ void sum_tiles(const Launch<Config>& launch, const Shape& shape, const Config::Result* slots,
                                          const Output<Config>& output) {
  constexpr i32 width = 16 / sizeof(Config::Result);
  for (i64 tile = block_index() - compute_blocks; tile < shape.tiles(); tile += Config::comm_blocks) {
    if (!wait_for_tile(launch, shape, tile)) return;
    if (shape.n % width == 0) {
      sum_tile<width>(shape, tile, slots, output);
    } else {
      sum_tile<1>(shape, tile, slots, output);
    }
  }
}

// The last blocks sum what arrives, the others multiply. Where a launch has tiles, its sums have waited for those of
// every rank, so that each has started this launch, and thus left the one before, before the next one refills the other
// ping-pong buffer. Else a barrier makes sure of that.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Config::Result* const slots = launch.workspace<Config::Result>();
  if (block_index() < compute_blocks) {
    Tiles tiles(launch, shape);
    tiles.a = operand_a<Config>(maps.a, a, m, k);
    tiles.b = operand_b<Config>(maps, b, k, n);
    tiles.slots = slots;
    multiply_tiles<Config>(tiles, block_index(), compute_blocks);
    if (tiles.count() == 0) same_block_barrier(launch, Wait::exit);
  } else {
    sum_tiles(launch, shape, slots, output);
  }
}
