#pragma once

#include <iris/device/launch.hpp>
#include <iris/device/output.hpp>
#include <iris/device/tile.hpp>

/// What a template tells a main loop.
namespace iris::device {

/// What sums of products are multiplied by before they are rounded: of 8-bit floats the scales of both operands, each
/// in memory, whose product is an f32; of others nothing.
template <typename Element>
struct Scales {
  static constexpr bool are_there = false;
};
template <>
struct Scales<e4m3> {
  static constexpr bool are_there = true;
  const f32* a;
  const f32* b;

  __device__ __forceinline__ f32 product() const { return *a * *b; }
};

/// A tile of the product a·b: where its rows begin in a, and its columns in b.
template <typename Operand>
struct TileProduct {
  Operand a;
  Operand b;
  TileOrigin origin;
};

/// Where a finished tile goes: to this rank's output, or a matrix within that, of which it may stick out.
template <typename Config>
struct TilePlace {
  using Result = typename Config::Result;
  Matrix<Result> matrix;
  TileOrigin origin;
  Output<Config> output;

  /// The result that a sum at this place of the tile becomes. Outside the matrix, where it is nobody's, an epilogue
  /// reads what belongs to the nearest place inside: branches around it would keep all sums in registers meanwhile.
  __device__ __forceinline__ Result finish(i64 row, i64 column, typename Config::Accumulate value) const {
    if constexpr (EpilogueOf<Config>::is_there) {
      row = nearest(row, matrix.rows - origin.row, Config::tile_m);
      column = nearest(column, matrix.columns - origin.column, Config::tile_n);
    }
    return output.finish(at(row, column), value);
  }
  /// The same of two neighbours of a row, of which the first stands in an even column.
  __device__ __forceinline__ Pack<Result, 2> finish(i64 row, i64 column,
                                                    const Pack<typename Config::Accumulate, 2>& values) const {
    if constexpr (finishes_pairs<Config>) {
      row = nearest(row, matrix.rows - origin.row, Config::tile_m);
      column = nearest(column + 1, matrix.columns - origin.column, Config::tile_n) - 1;
      return output.finish(at(row, column), values);
    } else {
      return {{finish(row, column, values[0]), finish(row, column + 1, values[1])}};
    }
  }

 private:
  /// Where in the output an element of the tile stands.
  __device__ __forceinline__ Coordinates at(i64 row, i64 column) const {
    const Coordinates begin = output.at(matrix.data - output.data);
    return {begin.row + origin.row + row, begin.column + origin.column + column};
  }
  /// In words of 32 bits, which are few.
  __device__ __forceinline__ static i64 nearest(i64 at, i64 left, int tile) {
    const int last = static_cast<int>(left < tile ? left : tile) - 1;
    return static_cast<int>(at) < last ? static_cast<int>(at) : last;
  }
};
/// The same for a tile that lies by itself, as the main loop holds it, so that it travels in one piece: tile_m rows of
/// tile_n elements, in the order of image_index(). `rows` of them count. The data is aligned to 16 bytes.
template <typename T>
struct TileImage {
  T* data;
  i64 rows;
  bool crosses_links;  ///< the data is another rank's

  template <typename Value>
  __device__ __forceinline__ T finish(i64 /*row*/, i64 /*column*/, Value value) const {
    return convert<T>(value);
  }
  template <typename Value>
  __device__ __forceinline__ Pack<T, 2> finish(i64 /*row*/, i64 /*column*/, const Pack<Value, 2>& values) const {
    return convert_pack<T>(values);
  }
};
/// The same for a tile that the template sends to where it goes by a function of its own, send(). The data is this
/// rank's; a main loop that holds finished tiles nearer leaves it alone.
template <typename T>
struct TileToSend : TileImage<T> {};

template <typename Place>
inline constexpr bool is_sent_by_template = false;
template <typename T>
inline constexpr bool is_sent_by_template<TileToSend<T>> = true;

/// A tile that several blocks make, each along a part of k, of which it leaves the sums in memory. When all of them are
/// there, each of the blocks adds a share of the tile up, in the order of the parts.
template <typename Config>
struct TileParts {
  using Sums = typename Config::Accumulate;
  static constexpr i64 part_elements = i64{Config::tile_m} * Config::tile_n;

  Sums* sums;  ///< of all parts, part_elements each, as the main loop lays them out; aligned to 16 bytes
  i32 part;    ///< the block's
  i32 count;   ///< of parts; 1: the block makes the tile alone

  __device__ __forceinline__ Sums* of(i32 other) const { return sums + other * part_elements; }
};

/// The order in which the rows of a rank travel to the others: in chunks of tile_m rows, and each of these in slices
/// along k. Chunks of a band of tiles are multiplied at one time, so the first slice of each of them comes first, then
/// the second: were it one chunk after another, whoever multiplies the last would begin when the others are done.
template <typename Config>
struct SliceOrder {
  i64 chunks;
  i32 slices;

  struct Slice {
    i64 chunk;
    i32 slice;
  };

  /// Chunks in the band whose first one is `first`.
  __device__ __forceinline__ i64 height(i64 first) const {
    const i64 left = chunks - first;
    return left < Config::tile_band ? left : Config::tile_band;
  }
  __device__ __forceinline__ i64 number(const Slice& slice) const {
    const i64 first = slice.chunk / Config::tile_band * Config::tile_band;
    return first * slices + slice.slice * height(first) + slice.chunk - first;
  }
  __device__ __forceinline__ Slice at(i64 number) const {
    const i64 first = number / (i64{Config::tile_band} * slices) * Config::tile_band;
    const i64 within = number - first * slices;
    return {first + within % height(first), static_cast<i32>(within / height(first))};
  }
};

/// Of the stages of tile_k along k those of one of so many slices.
__device__ __forceinline__ Range slice_of_stages(i64 stages, i32 slice, i32 slices) {
  return chunk_of({0, stages}, slice, divide_up(stages, slices));
}
template <typename Config>
__device__ __forceinline__ Range stages_of_slice(i64 k, i32 slice, i32 slices) {
  return slice_of_stages(divide_up(k, Config::tile_k), slice, slices);
}
/// The elements along k that these hold.
template <typename Config>
__device__ __forceinline__ Range depth_of_slice(i64 k, i32 slice, i32 slices) {
  const Range stages = stages_of_slice<Config>(k, slice, slices);
  const i64 begin = stages.begin * Config::tile_k;
  const i64 end = stages.end * Config::tile_k;
  return {begin < k ? begin : k, end < k ? end : k};
}

/// Of the blocks that push rows beside their products those that send a certain slice, and how many slices each of them
/// has sent before that one.
struct Senders {
  i64 first;
  i64 count;
  u32 before;
};

/// A sequence of tiles that blocks multiply. A template derives its own, with
///
///     i64 count() const                                        how many there are
///     Tile at(i64 number) const                                what it needs to know of one, numbered from 0
///     TileProduct<Operand<Config>> product(const Tile&) const  what is multiplied
///     TilePlace<Config> place(const Tile&) const               where results go; or a TileImage, of partial sums; or a
///                                                              TileToSend
///
/// and what it needs of the functions below, in the place of these. Threads that do other things ask at the same time,
/// so that no answer depends on another.
struct TileSequence {
  /// Along k, in which the operands of a tile come.
  static constexpr i32 slices = 1;
  /// Along k, in which blocks may make a tile. If there are several, a template says which tiles and where, by
  ///
  ///     TileParts<Config> parts_of(const Tile&) const
  ///     bool wait_for_parts(const Tile&, ThreadGroup) const   as wait(), for the blocks that make the other parts
  ///
  /// and tell() is called of a part, too, when it has been left.
  static constexpr i32 parts = 1;

  /// Whether the tile is there, rather than a number that is left out.
  template <typename Tile>
  __device__ __forceinline__ bool has(const Tile&) const {
    return true;
  }
  /// Called by each thread of a group before anything of a slice of the tile's operands is read, for one slice along k
  /// after another; each thread waits for its part. False on any of them, with the fault recorded, if that did not come
  /// in time: the block gives up.
  template <typename Tile>
  __device__ __forceinline__ bool wait(const Tile&, i32 /*slice*/, ThreadGroup) const {
    return true;
  }
  /// Called by each thread of a group for a tile whose place is a TileToSend: held.load(PacksOfTile) are Packs of its
  /// results, as the main loop holds them.
  template <typename Tile, typename Held>
  __device__ __forceinline__ void send(const Tile&, const Held& /*held*/, ThreadGroup) const {}
  /// Called by one thread, whose release publishes the stored tile.
  template <typename Tile>
  __device__ __forceinline__ void tell(const Tile&) const {}
  /// Whether there is something to do with the tile once it is in its place and told of.
  template <typename Tile>
  __device__ __forceinline__ bool completes(const Tile&) const {
    return false;
  }
  /// Called then by each thread of a group, which waits for its part of what that needs, as wait() does.
  template <typename Tile>
  __device__ __forceinline__ bool wait_to_complete(const Tile&, ThreadGroup) const {
    return true;
  }
  /// Called by each thread of a group, after all waits of that group or of another one. Its threads come at different
  /// times. One that waits, too, returns a bool as wait() does.
  template <typename Tile>
  __device__ __forceinline__ void complete(const Tile&, ThreadGroup) const {}
};

/// Whether its complete() may fail.
template <typename Tiles, typename Tile>
inline constexpr bool completes_or_fails =
    requires(const Tiles& tiles, const Tile& tile, ThreadGroup group) { tiles.complete(tile, group) ? 1 : 0; };

}  // namespace iris::device
