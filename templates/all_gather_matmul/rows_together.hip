#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>

#include "../sample_config.hpp"

// Each rank has `rows` rows of A and all of B. Where its rows fill few tiles, those of all ranks are multiplied as one
// matrix, so that B is read once: every rank sends its own to all, itself among them. They travel in slices along k.
// Communication blocks form groups, which take slices in turn; a block's flag on every rank shows how many of its own
// it has delivered there.
struct Shape {
  static constexpr i32 slices = 8;
  static constexpr i32 groups = Config::comm_blocks > 1 ? 2 : 1;
  static constexpr i32 senders = Config::comm_blocks / groups;  // of a slice; a block too many sends nothing

  i64 m;
  i64 n;
  i64 k;

  __device__ i64 rows() const { return m / Config::world; }
  __device__ i64 flag(i32 block, i32 source) const { return own_flag<Config>(i64{block} * Config::world + source); }
};

// The closing barrier makes sure that every rank has started this launch, and thus left the one before, before the next
// one refills the other ping-pong buffer.
__device__ __forceinline__ void push(Launch<Config>& launch, const Shape& shape, const Config::Element* a,
                                     const Gathered<Config>& gathered) {
  const Context& context = launch.context;
  const i32 block = block_index();
  const i32 group = block / Shape::senders;
  const i64 flag = shape.flag(block, context.rank);
  const ThreadGroup threads = {block % Shape::senders * i64{Config::threads} + thread_index(),
                               Shape::senders * i64{Config::threads}};
  for (i32 slice = group; slice < Shape::slices && group < Shape::groups; slice += Shape::groups) {
    push_slice<Config>(context, dense(a, shape.rows(), shape.k), gathered, context.rank * shape.rows(), slice,
                       Shape::slices, threads);
    const u32 step = static_cast<u32>(slice / Shape::groups);
    block_signal_release_all(launch, flag, step);
    if (thread_index() == 0) signal_release(launch, flag, step, context.rank);
  }
  same_block_barrier(launch, Wait::exit);
}

struct Tiles : TileSequence {
  static constexpr i32 slices = Shape::slices;

  const Launch<Config>& launch;
  Shape shape;
  Operand<Config> gathered;
  Operand<Config> b;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, const Shape& of_shape) : launch(of_launch), shape(of_shape) {}

  __device__ i64 count() const { return tiles_of<Config>(shape.m, shape.n); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, shape.m, shape.n); }
  __device__ bool wait(const TileOrigin& /*tile*/, i32 slice, ThreadGroup group) const {
    const i32 first = slice % Shape::groups * Shape::senders;
    const u32 step = static_cast<u32>(slice / Shape::groups);
    bool arrived = true;
    for (i32 index = static_cast<i32>(group.index); index < Shape::senders * Config::world;
         index += static_cast<i32>(group.size)) {
      const i32 source = index % Config::world;
      const i64 flag = shape.flag(first + index / Config::world, source);
      arrived = wait_acquire(launch, flag, step, source, Wait::step) && arrived;
    }
    return arrived;
  }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {gathered, b, tile}; }
  __device__ TilePlace<Config> place(const TileOrigin& tile) const {
    return {dense(output.data, shape.m, shape.n), tile, output};
  }
};

// The first blocks push rows, the others multiply.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  const Shape shape = {m, n, k};
  Launch<Config> launch(context);
  const Gathered<Config> gathered = {launch.workspace<Config::Element>(), m, k};
  if (block_index() < Config::comm_blocks) {
    push(launch, shape, a, gathered);
  } else {
    Tiles tiles(launch, shape);
    tiles.gathered = gathered.of(0);
    tiles.b = operand_b<Config>(maps, b, k, n);
    tiles.output = output;
    multiply_tiles<Config>(tiles, block_index() - Config::comm_blocks, Config::blocks - Config::comm_blocks);
  }
}
