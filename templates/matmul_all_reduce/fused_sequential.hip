#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Each rank sums every so many of the tiles and gives the result to all. A block's flag on a rank shows which of that
// rank's tiles it has delivered there. Some ranks may have one tile less than others, but it keeps its number.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ i64 all_tiles() const { return tiles_of<Config>(m, n); }
  __device__ i64 tiles() const { return divide_up(all_tiles(), i64{Config::world}); }  // of one rank, at most
  __device__ i64 slot() const { return tiles() * image_elements<Config>; }             // for all tiles from one rank
  // Of all ranks' tiles, in the order in which every rank makes them: part 0 is for the next rank, the last for itself.
  // That part is late: what the others make of it arrives meanwhile. Not too late: its sums are yet to go to all.
  __device__ TilesOfParts sequence() const {
    constexpr i64 turn = divide_up(Config::blocks, Config::world);
    return {tiles(), Config::world, turn, turn};
  }
  // Of tiles side by side, which are made at one time, each rank has some.
  __device__ i64 number(i64 tile, i32 rank) const { return tile * Config::world + rank; }
  __device__ bool has(i64 tile, i32 rank) const { return number(tile, rank) < all_tiles(); }
  __device__ TileOrigin origin(i64 tile, i32 rank) const { return tile_at<Config>(number(tile, rank), m, n); }
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// A tile for each of the other ranks and a former one of its own, in turn: the links are busy all the time. Each tile
// goes to this rank's slot at its destination; whoever has made one of his own sums what all have made of it, for all.
// That waits only for tiles that stand before it in the sequence of every rank, so somebody can always go on.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> a;
  Operand<Config> b;
  Config::Result* slots;
  Output<Config> output;

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
    return {peer_at<Config::world>(launch.context, offset), index, static_cast<u32>(number / Config::blocks)};
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

  __device__ bool completes(const Tile& tile) const { return tile.destination == launch.context.rank; }
  __device__ bool wait_to_complete(const Tile& tile, ThreadGroup group) const {
    bool arrived = true;
    for (i64 part = group.index; part < Config::world; part += group.size) {
      // This rank's tiles are that part of the rank that is part + 1 before it.
      const i32 offset = Config::world - 1 - static_cast<i32>(part);
      const i32 source = peer_at<Config::world>(launch.context, offset);
      const i64 number = shape.sequence().number({static_cast<i32>(part), tile.index});
      const u32 step = static_cast<u32>(number / Config::blocks);
      arrived = wait_acquire(launch, shape.flag(number % Config::blocks, source), step, source, Wait::step) && arrived;
    }
    return arrived;
  }
  __device__ void complete(const Tile& tile, ThreadGroup group) const {
    constexpr i32 width = 16 / sizeof(Config::Result);
    if (shape.n % width == 0) {
      sum<width>(tile, group);
    } else {
      sum<1>(tile, group);
    }
  }
  template <i32 width>
  __device__ void sum(const Tile& tile, ThreadGroup group) const {
    const Config::Result* sources[Config::world];
#pragma unroll
    for (i32 rank = 0; rank < Config::world; ++rank) {
      sources[rank] = slots + rank * shape.slot() + tile.index * image_elements<Config>;
    }
    const auto result = dense(output.data, shape.m, shape.n);
    const TileOrigin origin = shape.origin(tile.index, tile.destination);
    const Context& context = launch.context;
    const i32 window = window_of(context, output.data);
    for_each_pack_of_tile<Config, width>(group, result, origin, [&](const auto& packs) {
      const auto sums = load_and_reduce<Config, Sum>(sources, image_index<Config>(packs));
      const auto index = packs.index(shape.n, origin);
      const auto results = output.finish(index, sums);
#pragma unroll
      for (i32 offset = 0; offset < Config::world; ++offset) {
        store(on_rank_in(context, window, output.data, peer_at<Config::world>(context, offset)), index, results);
      }
    });
  }
};

// A tile has come from every rank, so every rank has started this launch: its output may be written. The closing
// barrier tells that all tiles of all ranks have arrived here, and that nobody is still in the launch before, whose
// ping-pong buffer the next one refills.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  Tiles tiles(launch, shape);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.slots = launch.workspace<Config::Result>();
  tiles.output = output;
  if (multiply_tiles<Config>(tiles, block_index(), Config::blocks)) same_block_barrier(launch, Wait::exit);
}
