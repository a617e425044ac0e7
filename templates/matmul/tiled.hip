#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

struct Tiles : TileSequence {
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;
  i64 rows;

  __device__ i64 count() const { return tiles_of<Config>(rows, output.columns); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, rows, output.columns); }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TilePlace<Config> place(const TileOrigin& tile) const {
    return {dense(output.data, rows, output.columns), tile, output};
  }
};

// Each rank multiplies alone; its blocks take the tiles of the output in turn.
__device__ __forceinline__ void kernel(const Context&, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  Tiles tiles;
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  tiles.rows = m;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
