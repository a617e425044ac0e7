#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;

// Each rank sums every so many of the tiles and gives the result to all. A compute block's flag on a rank shows which
// of that rank's tiles it has delivered there. Some ranks may have one tile less than others, but it keeps its number.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ i64 all_tiles() const { return tiles_of<Config>(m, n); }
  __device__ i64 tiles() const { return divide_up(all_tiles(), i64{Config::world}); }  // of one rank, at most
  __device__ i64 slot() const { return tiles() * image_elements<Config>; }             // for all tiles from one rank
  // Of all ranks' tiles, in the order in which every rank makes them: part 0 is for the next rank, the last for itself.
  __device__ TilesOfParts sequence() const { return {tiles(), Config::world}; }
  // Of tiles side by side, which are made at one time, each rank has some.
  __device__ i64 number(i64 tile, i32 rank) const { return tile * Config::world + rank; }
  __device__ bool has(i64 tile, i32 rank) const { return number(tile, rank) < all_tiles(); }
  __device__ TileOrigin origin(i64 tile, i32 rank) const { return tile_at<Config>(number(tile, rank), m, n); }
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
  __device__ bool has(const Tile& tile) const { return shape.has(tile.index, tile.destination); }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    return {a, b, shape.origin(tile.index, tile.destination)};
  }
  __device__ TileImage<Config::Result> place(const Tile& tile) const {
    Config::Result* const image = slots + launch.context.rank * shape.slot() + tile.index * image_elements<Config>;
    const i64 rows = rows_of_tile<Config>(shape.m, shape.origin(tile.index, tile.destination).row);
    return {heap_on_rank(launch.context, image, tile.destination), rows, tile.destination != launch.context.rank};
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
    // This rank's tiles are that part of the rank that is part + 1 before it.
    const i32 source = peer_at<Config::world>(launch.context, Config::world - 1 - part);
    const i64 number = shape.sequence().number({part, tile});
    const u32 step = static_cast<u32>(number / compute_blocks);
    arrived = wait_acquire(launch, shape.flag(number % compute_blocks, source), step, source, Wait::step) && arrived;
  }
  return sync_block_and(arrived);
}

template <i32 width>
__device__ __forceinline__ void sum_tile(const Context& context, const Shape& shape, i64 tile,
                                         const Config::Result* slots, const Output<Config>& output) {
  const Config::Result* sources[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) {
    sources[rank] = slots + rank * shape.slot() + tile * image_elements<Config>;
  }
  const auto result = dense(output.data, shape.m, shape.n);
  const TileOrigin origin = shape.origin(tile, context.rank);
  const i32 window = window_of(context, output.data);
  for_each_pack_of_tile<Config, width>(block_threads<Config>(), result, origin, [&](const auto& packs) {
    const auto sums = load_and_reduce<Config, Sum>(sources, image_index<Config>(packs));
    const auto index = packs.index(shape.n, origin);
    const auto results = output.finish(index, sums);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      store(on_rank_in(context, window, output.data, peer_at<Config::world>(context, offset)), index, results);
    }
  });
}

// A tile has come from every rank, so every rank has started this launch: its output may be written. The closing
// barrier tells that all tiles of all ranks have arrived here, and that nobody is still in the launch before, whose
// ping-pong buffer the next one refills.
__device__ __forceinline__ void sum_tiles(Launch<Config>& launch, const Shape& shape, const Config::Result* slots,
                                          const Output<Config>& output) {
  constexpr i32 width = 16 / sizeof(Config::Result);
  for (i64 tile = block_index() - compute_blocks; tile < shape.tiles(); tile += Config::comm_blocks) {
    if (!shape.has(tile, launch.context.rank)) continue;
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
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  Config::Result* const slots = launch.workspace<Config::Result>();
  if (block_index() < compute_blocks) {
    Tiles tiles(launch, shape);
    tiles.a = operand_a<Config>(maps.a, a, m, k);
    tiles.b = operand_b<Config>(maps, b, k, n);
    tiles.slots = slots;
    multiply_tiles<Config>(tiles, block_index(), compute_blocks);
  } else {
    sum_tiles(launch, shape, slots, output);
  }
}
