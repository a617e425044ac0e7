#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// The output is cut into row_shards × column_shards parts, one for each rank: whole rows or whole columns.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ i64 rows() const { return m / Config::row_shards; }
  __device__ i64 columns() const { return n / Config::column_shards; }
  __device__ i64 flag(i32 source) const { return own_flag<Config>(i64{block_index()} * Config::world + source); }

  __device__ Matrix<Config::Result> part(Config::Result* output, i32 rank) const {
    const i64 row = rank / Config::column_shards * rows();
    const i64 column = rank % Config::column_shards * columns();
    return {output + row * n + column, rows(), columns(), n};
  }
};

// Whoever has made a tile of this rank's part pushes it to the others, as soon as these have started the launch.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;
  Matrix<Config::Result> part;
  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  __device__ i64 count() const { return tiles_of<Config>(part.rows, part.columns); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, part.rows, part.columns); }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TilePlace<Config> place(const TileOrigin& tile) const { return {part, tile, output}; }

  __device__ bool completes(const TileOrigin&) const { return Config::world > 1; }
  __device__ bool wait_to_complete(const TileOrigin&, ThreadGroup group) const {
    bool arrived = true;
    for (i64 offset = 1 + group.index; offset < Config::world; offset += group.size) {
      const i32 peer = peer_at<Config::world>(launch.context, static_cast<i32>(offset));
      arrived = wait_acquire(launch, shape.flag(peer), 0, peer, Wait::entry) && arrived;
    }
    return arrived;
  }
  __device__ void complete(const TileOrigin& tile, ThreadGroup group) const {
    constexpr i32 width = 16 / sizeof(Config::Result);
    if (part.takes_packs(width)) {
      push<width>(tile, group);
    } else {
      push<1>(tile, group);
    }
  }
  template <i32 width>
  __device__ void push(const TileOrigin& tile, ThreadGroup group) const {
    const Context& context = launch.context;
    const i32 window = window_of(context, part.data);
    for_each_pack_of_tile<Config, width>(group, part, tile, [&](const auto& packs) {
      const auto index = packs.index(part.stride, tile);
      const auto values = load(part.data, index);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        store(on_rank_in(context, window, part.data, peer_at<Config::world>(context, offset)), index, values);
      }
    });
  }
};

// The first signal says that this rank's output may be written, the closing barrier that it has been.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  block_signal_release_all(launch, shape.flag(context.rank), 0);
  Tiles tiles(launch, shape);
  tiles.a = operand_a<Config>(maps.a, a, shape.rows(), k);
  tiles.b = operand_b<Config>(maps, b, k, shape.columns());
  tiles.output = output;
  tiles.part = shape.part(output.data, context.rank);
  if (multiply_tiles<Config>(tiles, block_index(), Config::blocks)) same_block_barrier(launch, Wait::exit);
}
