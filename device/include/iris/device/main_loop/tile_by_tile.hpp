#pragma once

#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/reduce.hpp>

namespace iris::device {

/// What main loops share in which all threads of a block work on one tile after another and read the operands where
/// they lie. `Loop` derives from it and has
///
///     template <typename Config, typename Place>
///     static void multiply(const Operand& a, const Operand& b, const TileOrigin& origin, const Place& place)
///
/// by which the whole block multiplies a tile and stores it where store_at() says: at a TilePlace or what ImagePlace
/// makes look so.
template <typename Loop>
struct TileByTile {
  /// What the host prepares for an operand: nothing.
  struct Map {};

  template <typename Config>
  struct Operand {
    Matrix<const typename Config::Element> matrix;
    Scales<typename Config::Element> scales = {};

    /// The rows from `row` on, `count` of them.
    __device__ __forceinline__ Operand rows(i64 row, i64 count) const {
      return {{matrix.data + row * matrix.stride, count, matrix.columns, matrix.stride}, scales};
    }
    __device__ __forceinline__ Operand columns(i64 column, i64 count) const {
      return {{matrix.data + column, matrix.rows, count, matrix.stride}, scales};
    }
  };

  template <typename Config>
  __device__ __forceinline__ static Operand<Config> operand(Map, const Matrix<const typename Config::Element>& matrix) {
    return {matrix};
  }
  template <typename Config>
  __device__ __forceinline__ static TileProduct<Operand<Config>> along_k(const TileProduct<Operand<Config>>& product,
                                                                         const Range& depth) {
    const i64 count = depth.end - depth.begin;
    // Where k is known, so is this; but LLVM loses it in some divisions of k, and makes code for what cannot be.
    const i64 whole_slices = product.a.matrix.columns / Config::tile_k;
    if (count <= (whole_slices / Config::parts - 1) * Config::tile_k) __builtin_unreachable();
    const auto& b = product.b;
    return {product.a.columns(depth.begin, count),
            Config::LayoutB::contiguous_along_k ? b.columns(depth.begin, count) : b.rows(depth.begin, count),
            product.origin};
  }

  static constexpr bool holds_finished_tiles = false;

  /// Row by row, as a matrix lies in memory; a chunk in one piece.
  static constexpr i32 gathered_slices = 1;

  template <typename Config>
  struct Gathered {
    using Element = typename Config::Element;
    Element* data;
    i64 rows;
    i64 k;

    __device__ __forceinline__ i64 slot() const { return round_up(rows * k, Config::vector); }
    __device__ __forceinline__ Operand<Config> of(i32 rank) const {
      return {dense<const Element>(data + rank * slot(), rows, k)};
    }
  };

  /// Each block sends its part of every chunk.
  template <typename Config, typename Tell>
  __device__ __forceinline__ static void push(const Context& context, const Operand<Config>& own,
                                              const Gathered<Config>& gathered, i64 block, i64 blocks,
                                              const Tell& tell) {
    auto* const slot = gathered.data + context.rank * gathered.slot();
    const i64 chunk_elements = Config::tile_m * gathered.k;
    const i64 chunks = divide_up(gathered.rows, Config::tile_m);
    for (i64 number = 0; number < chunks; ++number) {
      const Range chunk = chunk_of({0, gathered.rows * gathered.k}, number, chunk_elements);
      const Range share = shard_of(chunk.end - chunk.begin, blocks, block, Config::vector);
      const Range part = {chunk.begin + share.begin, chunk.begin + share.end};
      for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), part, [&](const auto& index) {
        const auto values = load(own.matrix.data, index);
#pragma unroll
        for (i32 offset = 1; offset < Config::world; ++offset) {
          store(heap_on_rank(context, slot, peer_at<Config::world>(context, offset)), index, values);
        }
      });
      sync_block_after_stores();
      tell(number, block_threads<Config>());
    }
  }

  template <typename Config>
  __device__ __forceinline__ static void push_slice(const Context& context,
                                                    const Matrix<const typename Config::Element>& own,
                                                    const Gathered<Config>& gathered, i64 first_row, i32 slice,
                                                    i32 slices, const ThreadGroup& group) {
    const Range columns = depth_of_slice<Config>(gathered.k, slice, slices);
    // Rows are aligned for packs if their length is a multiple of one.
    if (gathered.k % Config::vector == 0) {
      push_columns<Config::vector, Config>(context, own, gathered, first_row, columns, group);
    } else {
      push_columns<1, Config>(context, own, gathered, first_row, columns, group);
    }
  }

  /// All blocks send a part of each slice.
  template <typename Config>
  __device__ __forceinline__ static Senders senders_of(i64 slice) {
    return {0, Config::blocks, static_cast<u32>(slice)};
  }

  /// First the rows, for which others wait.
  template <typename Config, typename Tell, typename Tiles>
  __device__ __forceinline__ static bool push_and_run(const Context& context, const Operand<Config>& own,
                                                      const Gathered<Config>& gathered, const Tell& tell,
                                                      const Tiles& tiles) {
    push<Config>(context, own, gathered, block_index(), Config::blocks, tell);
    return run<Config>(tiles, block_index(), Config::blocks);
  }

  /// A TileImage is a matrix of tile_n columns: a row is whole accesses.
  template <typename Config, int width, int count>
  __device__ __forceinline__ static PackIndex<width, count> image_index(const PacksOfTile<width, count>& packs) {
    return packs.index(Config::tile_n);
  }

  /// An image as a matrix of its own.
  template <typename T>
  struct ImagePlace {
    using Result = T;
    Matrix<T> matrix;
    TileOrigin origin;
    TileImage<T> image;

    template <typename Value>
    __device__ __forceinline__ T finish(i64 row, i64 column, Value value) const {
      return image.finish(row, column, value);
    }
  };
  template <typename Config>
  __device__ __forceinline__ static TilePlace<Config> as_place(const TilePlace<Config>& place) {
    return place;
  }
  template <typename Config, typename T>
  __device__ __forceinline__ static ImagePlace<T> as_place(const TileImage<T>& image) {
    return {dense(image.data, image.rows, Config::tile_n), {0, 0}, image};
  }

  /// A tile that the block has stored as an image.
  template <typename Config>
  struct HeldImage {
    const typename Config::Result* data;

    template <int width, int count>
    __device__ __forceinline__ auto load(const PacksOfTile<width, count>& packs) const {
      return device::load(data, image_index<Config>(packs));
    }
  };

  /// Of a tile that the block makes alone or a part of, which is known late.
  template <typename Config>
  struct WholeOrPart {
    TilePlace<Config> whole;
    ImagePlace<typename Config::Accumulate> part;
    bool is_whole;
  };

  /// Calls store(place) for the one to store at.
  template <typename Place, typename Store>
  __device__ __forceinline__ static void store_at(const Place& place, const Store& store) {
    store(place);
  }
  template <typename Config, typename Store>
  __device__ __forceinline__ static void store_at(const WholeOrPart<Config>& place, const Store& store) {
    if (place.is_whole) {
      store(place.whole);
    } else {
      store(place.part);
    }
  }

  template <typename Config, typename Tiles>
  __device__ __forceinline__ static bool run(const Tiles& tiles, i64 first, i64 stride) {
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      for (i32 slice = 0; slice < Tiles::slices; ++slice) {
        if (!sync_block_and(tiles.wait(tile, slice, block_threads<Config>()))) return false;
      }
      const auto product = tiles.product(tile);
      if constexpr (Tiles::parts > 1) {
        if (!multiply_part<Config>(tiles, tile, product)) return false;
        continue;
      }
      const auto place = tiles.place(tile);
      Loop::template multiply<Config>(product.a, product.b, product.origin, as_place<Config>(place));
      if constexpr (is_sent_by_template<decltype(tiles.place(tile))>) {
        sync_block();
        tiles.send(tile, HeldImage<Config>{place.data}, block_threads<Config>());
      } else {
        sync_block_after_stores();
      }
      if (thread_index() == 0) tiles.tell(tile);
      if (!tiles.completes(tile)) continue;
      if (!sync_block_and(tiles.wait_to_complete(tile, block_threads<Config>()))) return false;
      if constexpr (completes_or_fails<Tiles, decltype(tiles.at(number))>) {
        if (!sync_block_and(tiles.complete(tile, block_threads<Config>()))) return false;
      } else {
        tiles.complete(tile, block_threads<Config>());
      }
    }
    return true;
  }

 private:
  template <i32 vector, typename Config>
  __device__ __forceinline__ static void push_columns(const Context& context,
                                                      const Matrix<const typename Config::Element>& own,
                                                      const Gathered<Config>& gathered, i64 first_row,
                                                      const Range& columns, const ThreadGroup& group) {
    const i64 first = first_row * gathered.k + columns.begin;
    const auto places = heap_on_peers<Config::world>(context, gathered.data + first);
    for_each_pack_of_rows<vector, Config::unroll>(group, own.rows, columns.end - columns.begin, [&](const auto& packs) {
      const auto index = packs.in(gathered.k);
      const auto values = load(own.data + columns.begin, index);
#pragma unroll
      for (i32 offset = 0; offset < Config::world; ++offset) store(places[offset], index, values);
    });
  }

  template <typename Config, typename Tiles, typename Tile, typename Product>
  __device__ __forceinline__ static bool multiply_part(const Tiles& tiles, const Tile& tile, const Product& product) {
    const TileParts<Config> parts = tiles.parts_of(tile);
    const TilePlace<Config> place = tiles.place(tile);
    const i64 rows = rows_of_tile<Config>(place.matrix.rows, place.origin.row);
    const TileImage<typename Config::Accumulate> image = {parts.of(parts.part), rows, false};
    Loop::template multiply<Config>(product.a, product.b, product.origin,
                                    WholeOrPart<Config>{place, as_place<Config>(image), parts.count == 1});
    sync_block_after_stores();
    if (thread_index() == 0) tiles.tell(tile);
    if (parts.count == 1) return true;
    if (!sync_block_and(tiles.wait_for_parts(tile, block_threads<Config>()))) return false;
    constexpr i32 width = 16 / sizeof(typename Config::Accumulate);
    if (place.matrix.takes_packs(width)) {
      add_share<width>(parts, place);
    } else {
      add_share<1>(parts, place);
    }
    return true;
  }

  template <i32 width, typename Config>
  __device__ __forceinline__ static void add_share(const TileParts<Config>& parts, const TilePlace<Config>& place) {
    const ThreadGroup all = {i64{parts.part} * Config::threads + thread_index(), i64{Config::parts} * Config::threads};
    for_each_pack_of_tile<Config, width>(all, place.matrix, place.origin, [&](const auto& packs) {
      const auto within = image_index<Config>(packs);
      auto sums = load(parts.of(0), within);
#pragma unroll
      for (i32 part = 1; part < Config::parts; ++part) sums = combine<Sum>(sums, load(parts.of(part), within));
      const auto index = packs.index(place.matrix.stride, place.origin);
      store(place.matrix.data, index, place.output.finish(index, sums));
    });
  }
};

}  // namespace iris::device
