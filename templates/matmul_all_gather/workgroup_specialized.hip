#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;

// The output is cut into row_shards × column_shards parts, one for each rank: whole rows or whole columns. A rank's
// tiles go round its compute blocks, whose flags on the rank itself show how many each of them has finished.
struct Shape {
  i64 m;
  i64 n;
  i64 k;

  __device__ i64 rows() const { return m / Config::row_shards; }
  __device__ i64 columns() const { return n / Config::column_shards; }
  __device__ i64 tiles() const { return tiles_of<Config>(rows(), columns()); }
  __device__ TileOrigin origin(i64 tile) const { return tile_at<Config>(tile, rows(), columns()); }
  __device__ i64 flag(i64 tile) const { return own_flag<Config>(tile % compute_blocks); }
  __device__ u32 step(i64 tile) const { return static_cast<u32>(tile / compute_blocks); }

  __device__ Matrix<Config::Result> part(Config::Result* output, i32 rank) const {
    const i64 row = rank / Config::column_shards * rows();
    const i64 column = rank % Config::column_shards * columns();
    return {output + row * n + column, rows(), columns(), n};
  }
};

struct Tiles : TileSequence {
  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;
  Matrix<Config::Result> part;
  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  struct Tile {
    i64 number;
    TileOrigin origin;
  };

  __device__ i64 count() const { return shape.tiles(); }
  __device__ Tile at(i64 number) const { return {number, shape.origin(number)}; }
  __device__ TileProduct<Operand<Config>> product(const Tile& tile) const { return {a, b, tile.origin}; }
  __device__ TilePlace<Config> place(const Tile& tile) const { return {part, tile.origin, output}; }
  __device__ void tell(const Tile& tile) const {
    signal_release(launch, shape.flag(tile.number), shape.step(tile.number), launch.context.rank);
  }
};

template <i32 width>
__device__ __forceinline__ void push_tile(const Context& context, const Matrix<Config::Result>& part,
                                          const TileOrigin& origin) {
  const i32 window = window_of(context, part.data);
  for_each_pack_of_tile<Config, width>(block_threads<Config>(), part, origin, [&](const auto& packs) {
    const auto index = packs.index(part.stride, origin);
    const auto values = load(part.data, index);
#pragma unroll
    for (i32 offset = 1; offset < Config::world; ++offset) {
      store(on_rank_in(context, window, part.data, peer_at<Config::world>(context, offset)), index, values);
    }
  });
}

// Between the barriers, which make sure that the peers' outputs may be written and that they have been.
__device__ __forceinline__ void push_tiles(Launch<Config>& launch, const Shape& shape,
                                           const Matrix<Config::Result>& part) {
  constexpr i32 width = 16 / sizeof(Config::Result);
  const i32 rank = launch.context.rank;
  if (!same_block_barrier(launch, Wait::entry)) return;
  for (i64 tile = block_index() - compute_blocks; tile < shape.tiles(); tile += Config::comm_blocks) {
    if (!block_wait_acquire(launch, shape.flag(tile), shape.step(tile), rank, Wait::step)) return;
    if (part.takes_packs(width)) {
      push_tile<width>(launch.context, part, shape.origin(tile));
    } else {
      push_tile<1>(launch.context, part, shape.origin(tile));
    }
  }
  same_block_barrier(launch, Wait::exit);
}

// The last blocks push what the others have multiplied.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  const Matrix<Config::Result> part = shape.part(output.data, context.rank);
  if (block_index() < compute_blocks) {
    Tiles tiles(launch, shape);
    tiles.a = operand_a<Config>(maps.a, a, shape.rows(), k);
    tiles.b = operand_b<Config>(maps, b, k, shape.columns());
    tiles.output = output;
    tiles.part = part;
    multiply_tiles<Config>(tiles, block_index(), compute_blocks);
  } else {
    push_tiles(launch, shape, part);
  }
}
