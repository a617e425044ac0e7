#include <iris/device/barrier.hpp>
#include <iris/device/tile.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Rows travel in chunks of tile_m; chunk c belongs to communication block
// c mod comm_blocks, whose flag on every rank shows how many of its chunks it has delivered there.
struct Shape {
  i64 rows;
  i64 n;
  i64 k;

  __device__ i64 slot() const { return round_up(rows * k, Config::vector); }  // elements of a rank's rows when gathered
  __device__ i64 chunks() const { return divide_up(rows, Config::tile_m); }
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

// Multiplies tile by tile: this rank's own rows first, then those of the ranks after it as they arrive.
__device__ __forceinline__ void multiply_rows(const Launch<Config>& launch, const Shape& shape,
                                              const Config::Element* a, const Config::Element* gathered,
                                              const Config::Element* b, Config::Result* output) {
  constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;
  const i64 columns = divide_up(shape.n, Config::tile_n);
  const i64 tiles = shape.chunks() * columns;  // of one rank's rows
  for (i64 work = block_index() - Config::comm_blocks; work < Config::world * tiles; work += compute_blocks) {
    const i32 offset = static_cast<i32>(work / tiles);
    const i32 source = peer_at<Config::world>(launch.context, offset);
    const i64 chunk = work % tiles / columns;
    if (offset != 0) {
      if (!block_wait_acquire(launch, shape.flag(chunk, source), shape.step(chunk), source, Wait::step)) return;
    }
    const Config::Element* const rows = offset == 0 ? a : gathered + source * shape.slot();
    const TileOrigin origin = {chunk * Config::tile_m, work % columns * Config::tile_n};
    const auto sums = multiply_tile<Config>(dense(rows, shape.rows, shape.k), dense(b, shape.k, shape.n), origin);
    Config::Result* const product = output + source * shape.rows * shape.n;
    store_tile<Config>(dense(product, shape.rows, shape.n), origin, sums);
  }
}

// The first blocks push rows, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       Config::Result* output, i64 m, i64 n, i64 k) {
  const Shape shape = {m / Config::world, n, k};
  Launch<Config> launch(context);
  Config::Element* const gathered = launch.workspace<Config::Element>();
  if (block_index() < Config::comm_blocks) {
    push_rows(launch, shape, a, gathered);
  } else {
    multiply_rows(launch, shape, a, gathered, b, output);
  }
}
