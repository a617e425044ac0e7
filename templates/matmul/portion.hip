#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// Of the output's blocks of m / world rows one after another, in a circle of ranks, and of each a portion: tiles of
// these rows.
struct Tiles : TileSequence {
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;
  Matrix<Config::Result> block;
  Range rows;

  __device__ i64 count() const { return tiles_of<Config>(rows.end - rows.begin, block.columns); }
  __device__ TileOrigin at(i64 number) const {
    TileOrigin origin = tile_at<Config>(number, rows.end - rows.begin, block.columns);
    origin.row += rows.begin;
    return origin;
  }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TilePlace<Config> place(const TileOrigin& tile) const { return {block, tile, output}; }
};

// One of several launches: copy engines carry what it has made to another rank while the next one multiplies. A has the
// rows of all blocks, or those of this rank's alone, which is the first then.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k, i64 portion) {
  const i64 rows = m / Config::world;
  const i64 turn = portion / Config::portions;
  const i32 rank = (context.rank + static_cast<i32>(turn)) % Config::world;
  const Operand<Config> all = operand_a<Config>(maps.a, a, Config::input_shards * rows, k);
  Tiles tiles;
  tiles.a = Config::input_shards > 1 ? all.rows(rank * rows, rows) : all;
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  tiles.block = dense(output.data + rank * rows * n, rows, n);
  tiles.rows = chunk_of({0, rows}, portion - turn * Config::portions, rows_of_portion<Config>(rows));
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
