#include <iris/device/main_loop.hpp>
#include <iris/device/signal.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Every rank's copy engine brings its rows to the others in portions of
// whole tiles, one rank after another, and raises a flag behind each portion.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 portion_rows() const { return rows_of_portion<Config>(rows); }
};

// This rank's own rows first, then those of the others in the order in which they come: a portion of each, from the
// rank before this one to the one after it.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> own;
  Operand<Config> gathered;
  Operand<Config> b;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    bool own;
    i32 source;
    i32 portion;
    TileOrigin origin;  // in the rows of that rank
  };

  __device__ i64 own_tiles() const { return tiles_of<Config>(shape.rows, shape.n); }
  __device__ i64 count() const { return Config::world * own_tiles(); }
  __device__ Tile at(i64 number) const {
    constexpr i64 others = Config::world > 1 ? Config::world - 1 : 1;
    if (number < own_tiles()) return {true, launch.context.rank, 0, tile_at<Config>(number, shape.rows, shape.n)};
    const i64 arriving = number - own_tiles();
    const i64 whole = tiles_of<Config>(shape.portion_rows(), shape.n);
    const i64 portion = arriving / (whole * others);
    const i64 first_row = portion * shape.portion_rows();
    const i64 left = shape.rows - first_row;
    const i64 rows = left < shape.portion_rows() ? left : shape.portion_rows();
    const i64 within = arriving - portion * whole * others;
    const i64 of_source = tiles_of<Config>(rows, shape.n);
    const i64 turn = within / of_source;
    TileOrigin origin = tile_at<Config>(within - turn * of_source, rows, shape.n);
    origin.row += first_row;
    const i32 source = peer_at<Config::world>(launch.context, static_cast<i32>(Config::world - 1 - turn));
    return {false, source, static_cast<i32>(portion), origin};
  }
  __device__ bool wait(const Tile& tile, i32 /*slice*/, ThreadGroup group) const {
    if (tile.own || group.index != 0) return true;
    return wait_acquire(launch, own_flag<Config>(tile.portion * Config::world + tile.source), 0, tile.source,
                        Wait::step);
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    const Operand<Config> of_source = gathered.rows(tile.source * shape.rows, shape.rows);
    return {tile.own ? own : of_source, b, tile.origin};
  }
  __device__ TilePlace<Config> place(const Tile& tile) const {
    return {dense(output.data + tile.source * shape.rows * shape.n, shape.rows, shape.n), tile.origin, output};
  }
};

// A launch ends when all that was sent to this rank in it has come, also portions of which it has no tile: what comes
// back behind them is the flag that it raised at the barrier before this kernel, and must not be that of the next
// launch.
__device__ __forceinline__ void wait_for_the_rest(const Launch<Config>& launch) {
  for (i32 index = thread_index(); index < Config::portions * Config::world; index += Config::threads) {
    const i32 source = index % Config::world;
    if (source == launch.context.rank) continue;
    if (!wait_acquire(launch, own_flag<Config>(index), 0, source, Wait::arrival)) return;
  }
}

// All blocks multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a,
                                       const Config::Element* gathered, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Tiles tiles(launch, shape);
  tiles.own = operand_a<Config>(maps.a, a, shape.rows, k);
  tiles.gathered = operand_a<Config>(maps.gathered, gathered, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  const bool done = multiply_tiles<Config>(tiles, block_index(), Config::blocks);
  if (done && block_index() == 0) wait_for_the_rest(launch);
}
