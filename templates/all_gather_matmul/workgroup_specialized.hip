#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Rows travel in chunks of tile_m; chunk c belongs to communication block
// c mod comm_blocks, whose flag on every rank shows how many of its chunks it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * k, Config::vector); }  // elements of a rank's rows when gathered
  __device__ i64 chunks() const { return divide_up(rows, Config::tile_m); }
  __device__ i64 tiles() const { return tiles_of<Config>(rows, n); }  // of one rank's rows
  __device__ i64 flag(i64 chunk, i32 source) const {
    return own_flag<Config>(chunk % Config::comm_blocks * Config::world + source);
  }
  __device__ u32 step(i64 chunk) const { return static_cast<u32>(chunk / Config::comm_blocks); }
};

// Pushes this rank's rows into its slot on every other rank. The closing barrier makes sure that every rank has started
// this launch, and thus left the one before, before the next one refills the other ping-pong buffer.
__device__ __forceinline__ void push_rows(Launch<Config>& launch, const Shape& shape, const Config::Element* a,
                                          Config::Element* gathered) {
  const Context& context = launch.context;
  Config::Element* const slot = gathered + context.rank * shape.slot();
  for (i64 chunk = block_index(); chunk < shape.chunks(); chunk += Config::comm_blocks) {
    const Range elements = chunk_of({0, shape.rows * shape.k}, chunk, Config::tile_m * shape.k);
    for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), elements, [&](const auto& index) {
      const auto values = load(a, index);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        store(on_rank(context, slot, peer_at<Config::world>(context, offset)), index, values);
      }
    });
    block_signal_release_all(launch, shape.flag(chunk, context.rank), shape.step(chunk));
  }
  same_block_barrier(launch, Wait::exit);
}

// This rank's own rows first. Then, as they arrive from everywhere at once, a band of chunks of the rank after it, the
// same band of the next one, and so on, band by band.
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

  __device__ i64 count() const { return Config::world * shape.tiles(); }
  __device__ Tile at(i64 number) const {
    const i64 tiles = shape.tiles();
    if (number < tiles) return {true, launch.context.rank, tile_at<Config>(number, shape.rows, shape.n)};
    const i64 band_tiles = Config::tile_band * divide_up(shape.n, Config::tile_n);
    const i64 band = (number - tiles) / (band_tiles * (Config::world - 1));
    const i64 within = (number - tiles) - band * band_tiles * (Config::world - 1);
    const i64 left = tiles - band * band_tiles;
    const i64 height = left < band_tiles ? left : band_tiles;
    const i32 source = peer_at<Config::world>(launch.context, static_cast<i32>(1 + within / height));
    return {false, source, tile_at<Config>(band * band_tiles + within % height, shape.rows, shape.n)};
  }
  __device__ bool wait(const Tile& tile) const {
    const i64 chunk = tile.origin.row / Config::tile_m;
    return tile.own || wait_acquire(launch, shape.flag(chunk, tile.source), shape.step(chunk), tile.source, Wait::step);
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
