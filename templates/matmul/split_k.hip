#include <iris/device/main_loop.hpp>
#include <iris/device/signal.hpp>

#include "../sample_config.hpp"

// Each rank multiplies alone. Its blocks take the tiles of the output in turn, as long as there is one for each of
// them. Those that are left, or all if they are few, are made by `parts` blocks each, along a part of k, if there are
// so many blocks.
struct Tiles : TileSequence {
  static constexpr i32 parts = Config::parts;

  const Launch<Config>& launch;
  Operand<Config> a;
  Operand<Config> b;
  Config::Accumulate* sums;  // of parts
  Output<Config> output;
  i64 rows;
  i64 k;
  i64 whole;  // tiles that a block makes alone
  i64 left;   // that are made in parts

  __device__ explicit Tiles(const Launch<Config>& of_launch) : launch(of_launch) {}

  struct Tile {
    i64 index;
    i32 part;
    i32 parts;
  };

  __device__ i64 count() const { return whole + left * parts; }
  __device__ Tile at(i64 number) const {
    if (number < whole) return {number, 0, 1};
    const i64 block = number - whole;
    if (in_one_row()) return {whole + block / parts, static_cast<i32>(block % parts), parts};
    return {whole + block % left, static_cast<i32>(block / left), parts};
  }
  // Blocks side by side make tiles side by side, of the same part, so that they read the same of B. Where all tiles
  // have the same rows they would share A alone, which is little: there they make parts of one tile, each of which
  // reads on from where the one before ends.
  __device__ bool in_one_row() const { return rows <= Config::tile_m; }
  __device__ i64 block_of(const Tile& tile, i64 part) const {
    return in_one_row() ? (tile.index - whole) * parts + part : part * left + tile.index - whole;
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
    return {sums + (tile.index - whole) * parts * TileParts<Config>::part_elements, tile.part, tile.parts};
  }
  __device__ void tell(const Tile& tile) const {
    if (tile.parts == 1) return;  // nobody waits for it
    signal_release(launch, own_flag<Config>(block_index()), /*step=*/0, launch.context.rank);
  }
  // A block makes one part at most, its last tile: nobody waits for somebody who waits.
  __device__ bool wait_for_parts(const Tile& tile, ThreadGroup group) const {
    bool arrived = true;
    for (i64 part = group.index; part < parts; part += group.size) {
      const i64 flag = own_flag<Config>(block_of(tile, part));
      arrived = wait_acquire(launch, flag, /*step=*/0, launch.context.rank, Wait::step) && arrived;
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
  const i64 count = tiles_of<Config>(m, n);
  tiles.left = count % Config::blocks * Config::parts <= Config::blocks ? count % Config::blocks : 0;
  tiles.whole = count - tiles.left;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
