#include <iris/device/barrier.hpp>
#include <iris/device/tile.hpp>

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
  __device__ i64 tiles_across() const { return divide_up(columns(), Config::tile_n); }
  __device__ i64 tiles() const { return divide_up(rows(), Config::tile_m) * tiles_across(); }
  __device__ TileOrigin origin(i64 tile) const {
    return {tile / tiles_across() * Config::tile_m, tile % tiles_across() * Config::tile_n};
  }
  __device__ i64 flag(i64 tile) const { return own_flag<Config>(tile % compute_blocks); }
  __device__ u32 step(i64 tile) const { return static_cast<u32>(tile / compute_blocks); }

  __device__ Matrix<Config::Result> part(Config::Result* output, i32 rank) const {
    const i64 row = rank / Config::column_shards * rows();
    const i64 column = rank % Config::column_shards * columns();
    return {output + row * n + column, rows(), columns(), n};
  }
};

__device__ __forceinline__ void multiply_tiles(const Launch<Config>& launch, const Shape& shape,
                                               const Config::Element* a, const Config::Element* b,
                                               const Matrix<Config::Result>& part) {
  const auto left = dense(a, shape.rows(), shape.k);
  const auto right = dense(b, shape.k, shape.columns());
  for (i64 tile = block_index(); tile < shape.tiles(); tile += compute_blocks) {
    const TileOrigin origin = shape.origin(tile);
    store_tile<Config>(part, origin, multiply_tile<Config>(left, right, origin));
    block_signal_release(launch, shape.flag(tile), shape.step(tile), launch.context.rank);
  }
}

template <i32 width>
__device__ __forceinline__ void push_tile(const Context& context, const Matrix<Config::Result>& part,
                                          const TileOrigin& origin) {
  for_each_pack_of_tile<Config, width>(part, origin, [&](const auto& index) {
    const auto values = load(part.data, index);
#pragma unroll
    for (i32 offset = 1; offset < Config::world; ++offset) {
      store(on_rank(context, part.data, peer_at<Config::world>(context, offset)), index, values);
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
                                       Config::Result* output, i64 m, i64 n, i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  const Matrix<Config::Result> part = shape.part(output, context.rank);
  if (block_index() < compute_blocks) {
    multiply_tiles(launch, shape, a, b, part);
  } else {
    push_tiles(launch, shape, part);
  }
}
