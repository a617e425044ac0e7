#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Each rank has all rows of its own A and B, and gets `rows` rows of the sum of all ranks' products. The rows of one
// destination are cut into tiles; a block's flag on a rank shows which of them it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 tiles() const { return tiles_of<Config>(rows, n); }
  __device__ i64 slot() const { return tiles() * image_elements<Config>; }  // for all tiles from one rank
  // Of all ranks' rows, in the order in which every rank makes them: part 0 is for the next rank, the last for itself.
  // That part is late: what the others make of it arrives meanwhile.
  __device__ TilesOfParts sequence() const {
    constexpr i64 turn = divide_up(Config::blocks, Config::world);
    return {tiles(), Config::world, turn, turn};
  }
  __device__ TileOrigin origin(i64 tile) const { return tile_at<Config>(tile, rows, n); }
  __device__ i64 rows_of(i64 tile) const { return rows_of_tile<Config>(rows, origin(tile).row); }
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// A tile for each of the other ranks and a former one of its own, in turn: the links are busy all the time. Each tile
// goes to this rank's slot at its destination; whoever has made one of his own sums what all have made of it. That
// waits only for tiles that stand before it in the sequence of every rank, so somebody can always go on.
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

  __device__ bool completes(const Tile& tile) const { return tile.destination == launch.context.rank; }
  __device__ bool wait_to_complete(const Tile& tile, ThreadGroup group) const {
    bool arrived = true;
    for (i64 part = group.index; part < Config::world; part += group.size) {
      // These rows are that part of the rank that is part + 1 before this one.
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
    const TileOrigin origin = shape.origin(tile.index);
    for_each_pack_of_tile<Config, width>(
        group, dense(output.data, shape.rows, shape.n), origin, [&](const auto& packs) {
          const auto sums = load_and_reduce<Config, Sum>(sources, image_index<Config>(packs));
          const auto index = packs.index(shape.n, origin);
          store(output.data, index, output.finish(index, sums));
        });
  }
};

// Where a launch has tiles, its sums have waited for those of every rank, so that each has started this launch, and
// thus left the one before, before the next one refills the other ping-pong buffer. Else a barrier makes sure of that.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Tiles tiles(launch, shape);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.slots = launch.workspace<Config::Result>();
  tiles.output = output;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
  if (tiles.count() == 0) same_block_barrier(launch, Wait::exit);
}
