#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Rows travel in chunks of tile_m, of which each communication block sends
// its part; its flag on every rank shows how many chunks it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * k, Config::vector); }  // elements of a rank's rows when gathered
  __device__ i64 chunks() const { return divide_up(rows, Config::tile_m); }
  __device__ i64 tiles() const { return tiles_of<Config>(rows, n); }  // of one rank's rows
  __device__ i64 flag(i64 block, i32 source) const { return own_flag<Config>(block * Config::world + source); }
  __device__ Range part(i64 chunk, i64 block) const {
    const Range elements = chunk_of({0, rows * k}, chunk, Config::tile_m * k);
    const Range part = shard_of(elements.end - elements.begin, Config::comm_blocks, block, Config::vector);
    return {elements.begin + part.begin, elements.begin + part.end};
  }
};

// Pushes this rank's rows into its slot on every other rank. The closing barrier makes sure that every rank has started
// this launch, and thus left the one before, before the next one refills the other ping-pong buffer.
__device__ __forceinline__ void push_rows(Launch<Config>& launch, const Shape& shape, const Config::Element* a,
                                          Config::Element* gathered) {
  const Context& context = launch.context;
  Config::Element* const slot = gathered + context.rank * shape.slot();
  for (i64 chunk = 0; chunk < shape.chunks(); ++chunk) {
    const Range part = shape.part(chunk, block_index());
    for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), part, [&](const auto& index) {
      const auto values = load(a, index);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        store(on_rank(context, slot, peer_at<Config::world>(context, offset)), index, values);
      }
    });
    block_signal_release_all(launch, shape.flag(block_index(), context.rank), static_cast<u32>(chunk));
  }
  same_block_barrier(launch, Wait::exit);
}

// This rank's own rows first, then those of the others as they arrive from everywhere at once.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> own;
  Operand<Config> gathered;
  Operand<Config> b;
  Config::Result* output;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    bool own;
    i32 source;
    TileOrigin origin;  // in the rows of that rank
  };

  __device__ TilesOfParts<Config> arriving() const { return {shape.rows, shape.n, Config::world - 1}; }
  __device__ i64 count() const { return Config::world * shape.tiles(); }
  __device__ Tile at(i64 number) const {
    const i64 tiles = shape.tiles();
    if (number < tiles) return {true, launch.context.rank, tile_at<Config>(number, shape.rows, shape.n)};
    const auto [part, index] = arriving().at(number - tiles);
    return {false, peer_at<Config::world>(launch.context, part + 1), tile_at<Config>(index, shape.rows, shape.n)};
  }
  __device__ bool wait(const Tile& tile, ThreadGroup group) const {
    const u32 chunk = static_cast<u32>(tile.origin.row / Config::tile_m);
    bool arrived = true;
    for (i64 block = group.index; block < Config::comm_blocks && !tile.own; block += group.size) {
      arrived = wait_acquire(launch, shape.flag(block, tile.source), chunk, tile.source, Wait::step) && arrived;
    }
    return arrived;
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    Operand<Config> rows = gathered.slot(tile.source, shape.slot());
    if (tile.own) rows = own;
    return {rows, b, tile.origin};
  }
  __device__ TilePlace<Config::Result> place(const Tile& tile) const {
    return {dense(output + tile.source * shape.rows * shape.n, shape.rows, shape.n), tile.origin};
  }
};

// The first blocks push rows, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       Config::Result* output, const OperandMaps<Config>& maps, i64 m, i64 n, i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Config::Element* const gathered = launch.workspace<Config::Element>();
  if (block_index() < Config::comm_blocks) {
    push_rows(launch, shape, a, gathered);
  } else {
    Tiles tiles(launch, shape);
    tiles.own = operand<Config>(maps.a, dense(a, shape.rows, k));
    tiles.gathered = operand<Config>(maps.workspace, launch, dense<const Config::Element>(gathered, shape.rows, k));
    tiles.b = operand<Config>(maps.b, dense(b, k, n));
    tiles.output = output;
    multiply_tiles<Config>(tiles, block_index() - Config::comm_blocks, Config::blocks - Config::comm_blocks);
  }
}
