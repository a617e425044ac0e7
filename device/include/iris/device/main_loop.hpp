#pragma once

#include <iris/device/main_loop/any.hpp>
#include <iris/device/main_loop/tiles.hpp>

/// The seam between a template, which says what is multiplied in which order, when it may be read, where it goes and
/// who is told, and the loop that does it, which Config::MainLoop names.
namespace iris::device {

/// A matrix as the main loop reads it.
template <typename Config>
using Operand = typename Config::MainLoop::template Operand<Config>;

/// What the host has prepared of one matrix for the main loop.
template <typename Config>
using OperandMap = typename Config::MainLoop::Map;

/// Of both operands, and of the rows of A of all ranks where they lie in a buffer, and the operands' scales: what a
/// launch passes to the kernel.
template <typename Config>
struct OperandMaps {
  OperandMap<Config> a = {};
  OperandMap<Config> b = {};
  OperandMap<Config> gathered = {};
  Scales<typename Config::Element> scales = {};
};

/// The matrix A of m rows and k columns, of which `map` was made.
template <typename Config>
__device__ __forceinline__ Operand<Config> operand_a(const OperandMap<Config>& map,
                                                     const typename Config::Element* data, i64 m, i64 k) {
  return Config::MainLoop::template operand<Config>(map, dense(data, m, k));
}

/// The matrix B of k rows and n columns, which lies in memory as Config::LayoutB says. The scales of the product go
/// with it, since rows of A come from many places.
template <typename Config>
__device__ __forceinline__ Operand<Config> operand_b(const OperandMaps<Config>& maps,
                                                     const typename Config::Element* data, i64 k, i64 n) {
  auto operand = Config::MainLoop::template operand<Config>(maps.b, Config::LayoutB::stored(data, k, n));
  operand.scales = maps.scales;
  return operand;
}

/// The part of a product that lies in a range along k: one of `parts` shards of it, in multiples of tile_k. Of
/// matrices in memory, not of gathered rows.
template <typename Config>
__device__ __forceinline__ TileProduct<Operand<Config>> along_k(const TileProduct<Operand<Config>>& product,
                                                                const Range& depth) {
  return Config::MainLoop::template along_k<Config>(product, depth);
}

/// Rows of A of every rank, k elements each, in the workspace: a slot for each rank, in the layout in which the main
/// loop reads them. They come in chunks of tile_m rows, and each chunk in slices along k.
template <typename Config>
using Gathered = typename Config::MainLoop::template Gathered<Config>;
template <typename Config>
inline constexpr i32 gathered_slices = Config::MainLoop::gathered_slices;

/// The number of a slice of the chunk that begins at `row` of a rank's `rows`, in the order in which they are sent.
template <typename Config>
__device__ __forceinline__ i64 slice_number(i64 rows, i64 row, i32 slice) {
  const SliceOrder<Config> order = {divide_up(rows, Config::tile_m), gathered_slices<Config>};
  return order.number({row / Config::tile_m, slice});
}

/// Block number `block` of `blocks` sends its part of this rank's rows into this rank's slot on every other rank, one
/// slice of a chunk after another. When a slice has come, each thread of a group calls tell(step, group): its release
/// publishes the block's part of that slice and of all before it. Some slices may be told of together.
template <typename Config, typename Tell>
__device__ __forceinline__ void push_rows(const Context& context, const Operand<Config>& own,
                                          const Gathered<Config>& gathered, i64 block, i64 blocks, const Tell& tell) {
  Config::MainLoop::template push<Config>(context, own, gathered, block, blocks, tell);
}

/// Threads of a group send this rank's rows, of one slice of so many along k, to all ranks, itself among them. There
/// they are rows `first_row`, … of one matrix, which `gathered` has, as if it were one rank's.
template <typename Config>
__device__ __forceinline__ void push_slice(const Context& context, const Matrix<const typename Config::Element>& own,
                                           const Gathered<Config>& gathered, i64 first_row, i32 slice, i32 slices,
                                           const ThreadGroup& group) {
  Config::MainLoop::template push_slice<Config>(context, own, gathered, first_row, slice, slices, group);
}

/// Who sends slice number `slice` in push_and_multiply.
template <typename Config>
__device__ __forceinline__ Senders senders_of(i64 slice) {
  return Config::MainLoop::template senders_of<Config>(slice);
}

/// Elements of a TileImage.
template <typename Config>
inline constexpr i64 image_elements = i64{Config::tile_m} * Config::tile_n;

/// What a kernel reserves for the images of all blocks' tiles to send, one of each: none where the main loop holds
/// them.
template <typename Config>
inline constexpr i64 reserved_for_images =
    Config::MainLoop::holds_finished_tiles
        ? 0
        : round_up(Config::blocks * image_elements<Config> * i64{sizeof(typename Config::Result)}, 16);

/// Where packs of a tile lie in its TileImage, counted from the image's data. A pack is 16 bytes at most.
template <typename Config, int width, int count>
__device__ __forceinline__ auto image_index(const PacksOfTile<width, count>& packs) {
  return Config::MainLoop::template image_index<Config>(packs);
}

/// The block multiplies tiles number `first`, `first` + `stride`, … of a TileSequence. False on every thread, with the
/// fault recorded, if one of its waits ran out of time: the kernel returns. Once in a kernel.
template <typename Config, typename Tiles>
__device__ __forceinline__ bool multiply_tiles(const Tiles& tiles, i64 first, i64 stride) {
  return Config::MainLoop::template run<Config>(tiles, first, stride);
}

/// multiply_tiles by all blocks of the grid, which also push rows: at the same time where the platform can do that,
/// else before. tell(step, group) publishes the block's part of the slice that is its number `step`.
template <typename Config, typename Tiles, typename Tell>
__device__ __forceinline__ bool push_and_multiply(const Context& context, const Operand<Config>& own,
                                                  const Gathered<Config>& gathered, const Tell& tell,
                                                  const Tiles& tiles) {
  return Config::MainLoop::template push_and_run<Config>(context, own, gathered, tell, tiles);
}

}  // namespace iris::device
