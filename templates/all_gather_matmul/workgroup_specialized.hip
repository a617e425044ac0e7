#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Rows travel in chunks of tile_m, and those in slices, of which each
// communication block sends its part; its flag on every rank shows how many slices it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 tiles() const { return tiles_of<Config>(rows, n); }  // of one rank's rows
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
};

// The closing barrier makes sure that every rank has started this launch, and thus left the one before, before the next
// one refills the other ping-pong buffer.
__device__ __forceinline__ void push(Launch<Config>& launch, const Shape& shape, const Operand<Config>& own,
                                     const Gathered<Config>& gathered) {
  const Context& context = launch.context;
  const i64 flag = shape.flag(block_index(), context.rank);
  push_rows<Config>(context, own, gathered, block_index(), Config::comm_blocks, [&](i64 step, ThreadGroup group) {
    for (i64 offset = 1 + group.index; offset < Config::world; offset += group.size) {
      signal_release(launch, flag, static_cast<u32>(step), peer_at<Config::world>(context, static_cast<i32>(offset)));
    }
  });
  same_block_barrier(launch, Wait::exit);
}

// This rank's own rows first, then those of the others as they arrive from everywhere at once.
struct Tiles : TileSequence {
  static constexpr i32 slices = gathered_slices<Config>;

  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> own;
  Gathered<Config> gathered;
  Operand<Config> b;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    bool own;
    i32 source;
    TileOrigin origin;  // in the rows of that rank
  };

  __device__ TilesOfParts arriving() const { return {shape.tiles(), Config::world - 1}; }
  __device__ i64 count() const { return Config::world * shape.tiles(); }
  __device__ Tile at(i64 number) const {
    const i64 tiles = shape.tiles();
    if (number < tiles) return {true, launch.context.rank, tile_at<Config>(number, shape.rows, shape.n)};
    const auto [part, index] = arriving().at(number - tiles);
    return {false, peer_at<Config::world>(launch.context, part + 1), tile_at<Config>(index, shape.rows, shape.n)};
  }
  __device__ bool wait(const Tile& tile, i32 slice, ThreadGroup group) const {
    const u32 step = static_cast<u32>(slice_number<Config>(shape.rows, tile.origin.row, slice));
    bool arrived = true;
    for (i64 block = group.index; block < Config::comm_blocks && !tile.own; block += group.size) {
      arrived = wait_acquire(launch, shape.flag(block, tile.source), step, tile.source, Wait::step) && arrived;
    }
    return arrived;
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    return {tile.own ? own : gathered.of(tile.source), b, tile.origin};
  }
  __device__ TilePlace<Config> place(const Tile& tile) const {
    return {dense(output.data + tile.source * shape.rows * shape.n, shape.rows, shape.n), tile.origin, output};
  }
};

// The first blocks push rows, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  const Operand<Config> own = operand_a<Config>(maps.a, a, shape.rows, k);
  const Gathered<Config> gathered = {launch.workspace<Config::Element>(), shape.rows, k};
  if (block_index() < Config::comm_blocks) {
    push(launch, shape, own, gathered);
  } else {
    Tiles tiles(launch, shape);
    tiles.own = own;
    tiles.gathered = gathered;
    tiles.b = operand_b<Config>(maps, b, k, n);
    tiles.output = output;
    multiply_tiles<Config>(tiles, block_index() - Config::comm_blocks, Config::blocks - Config::comm_blocks);
  }
}
