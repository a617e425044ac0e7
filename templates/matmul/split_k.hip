#include <iris/device/main_loop.hpp>
#include <iris/device/signal.hpp>

#include "../sample_config.hpp"

// Each rank multiplies alone. Its blocks take the tiles of the output in turn, as long as there is one for each of
// them. Those that are left, or all if they are few, are made by `parts` blocks each, along a part of k.
struct Tiles : TileSequence {
  static constexpr i32 parts = Config::parts;

  const Launch<Config>& launch;
  Operand<Config> a;
  Operand<Config> b;
  Config::Accumulate* sums;  // of parts
  Output<Config> output;
  i64 rows;
  i64 k;

  __device__ explicit Tiles(const Launch<Config>& of_launch) : launch(of_launch) {}

  struct Tile {
    i64 index;
    i32 part;
    i32 parts;
    i64 first;  // number, of its parts
  };

  __device__ i64 tiles() const { return tiles_of<Config>(rows, output.columns); }
  __device__ i64 whole() const { return tiles() / Config::blocks * Config::blocks; }
  __device__ i64 count() const { return whole() + (tiles() - whole()) * parts; }
  __device__ Tile at(i64 number) const {
    if (number < whole()) return {number, 0, 1, number};
    const i64 cut = (number - whole()) / parts;
    const i64 first = whole() + cut * parts;
    return {whole() + cut, static_cast<i32>(number - first), parts, first};
  }
  __device__ TileOrigin origin(const Tile& tile) const { return tile_at<Config>(tile.index, rows, output.columns); }
  __device__ Range depth(const Tile& tile) const {
    return tile.parts == 1 ? Range{0, k} : shard_of(k, parts, tile.part, Config::tile_k);
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    return along_k<Config>({a, b, origin(tile)}, depth(tile));
  }
  __device__ TilePlace<Config> place(const Tile& tile) const {
    return {dense(output.data, rows, output.columns), origin(tile), output};
  }

  __device__ TileParts<Config> parts_of(const Tile& tile) const {
    return {sums + (tile.first - whole()) * TileParts<Config>::part_elements, tile.part, tile.parts};
  }
  __device__ static u32 step(i64 number) { return static_cast<u32>(number / Config::blocks); }  // of its block
  __device__ void tell(const Tile& tile) const {
    if (tile.parts == 1) return;  // nobody waits for it
    signal_release(launch, own_flag<Config>(block_index()), step(tile.first + tile.part), launch.context.rank);
  }
  // The parts of a tile follow one another: none waits for a later tile's.
  __device__ bool wait_for_parts(const Tile& tile, ThreadGroup group) const {
    bool arrived = true;
    for (i64 number = tile.first + group.index; number < tile.first + parts; number += group.size) {
      const i64 flag = own_flag<Config>(number % Config::blocks);
      arrived = wait_acquire(launch, flag, step(number), launch.context.rank, Wait::step) && arrived;
    }
    return arrived;
  }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  Launch<Config> launch(context);
  Tiles tiles(launch);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.sums = reinterpret_cast<Config::Accumulate*>(context.workspace);  // no other rank writes there
  tiles.output = output;
  tiles.rows = m;
  tiles.k = k;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
