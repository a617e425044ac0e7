#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/signal.hpp>

#include "../sample_config.hpp"

// Each rank multiplies alone. A tile is made by `parts` blocks, each along a part of k.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ i64 tiles() const { return tiles_of<Config>(m, n); }
  __device__ TileOrigin origin(i64 tile) const { return tile_at<Config>(tile, m, n); }
  __device__ Range depth(i32 part) const { return shard_of(k, Config::parts, part, Config::tile_k); }
};

// Every part of a tile is left in the workspace, as it is summed; once all of them are there, each of their blocks adds
// a share of the tile up, in the order of the parts. The parts of a tile follow one another in the sequence: nobody
// waits for what stands behind them.
struct Tiles : TileSequence {
  using Sums = Config::Accumulate;

  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> a;
  Operand<Config> b;
  Sums* images;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    i64 index;
    i32 part;
    u32 step;  // of the block
  };

  __device__ i64 count() const { return Config::parts * shape.tiles(); }
  __device__ Tile at(i64 number) const {
    return {number / Config::parts, static_cast<i32>(number % Config::parts),
            static_cast<u32>(number / Config::blocks)};
  }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const {
    return along_k<Config>({a, b, shape.origin(tile.index)}, shape.depth(tile.part));
  }
  __device__ Sums* image(const Tile& tile, i32 part) const {
    return images + (tile.index * Config::parts + part) * image_elements<Config>;
  }
  __device__ TileImage<Sums> place(const Tile& tile) const {
    return {image(tile, tile.part), rows_of_tile<Config>(shape.m, shape.origin(tile.index).row)};
  }
  __device__ void tell(const Tile& tile) const {
    signal_release(launch, own_flag<Config>(block_index()), tile.step, launch.context.rank);
  }

  __device__ bool completes(const Tile&) const { return true; }
  __device__ bool wait_to_complete(const Tile& tile, ThreadGroup group) const {
    bool arrived = true;
    for (i64 part = group.index; part < Config::parts; part += group.size) {
      const i64 number = tile.index * Config::parts + part;
      const i64 flag = own_flag<Config>(number % Config::blocks);
      const u32 step = static_cast<u32>(number / Config::blocks);
      arrived = wait_acquire(launch, flag, step, launch.context.rank, Wait::step) && arrived;
    }
    return arrived;
  }
  __device__ void complete(const Tile& tile, ThreadGroup group) const {
    constexpr i32 width = 16 / sizeof(Sums);
    const ThreadGroup all = {tile.part * group.size + group.index, Config::parts * group.size};
    if (shape.n % width == 0) {
      sum<width>(tile, all);
    } else {
      sum<1>(tile, all);
    }
  }
  template <i32 width>
  __device__ void sum(const Tile& tile, ThreadGroup group) const {
    const TileOrigin origin = shape.origin(tile.index);
    for_each_pack_of_tile<Config, width>(group, dense(output.data, shape.m, shape.n), origin, [&](const auto& packs) {
      const auto within = packs.index(image_stride<Config>);
      auto sums = load(image(tile, 0), within);
#pragma unroll
      for (i32 part = 1; part < Config::parts; ++part) sums = combine<Sum>(sums, load(image(tile, part), within));
      const auto index = packs.index(shape.n, origin);
      store(output.data, index, output.finish(index, sums));
    });
  }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  Launch<Config> launch(context);
  Tiles tiles(launch, {m, n, k});
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.images = reinterpret_cast<Config::Accumulate*>(context.workspace);  // no other rank writes there
  tiles.output = output;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
