#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/tile_mailbox.hpp>

#include "../sample_config.hpp"

// As low_latency, in two ways over the links for less on them: each rank sums its share of a tile's rows and sends them
// to all. Ranks have equally many rows of a tile, of which the last ones may not be there; lines of these come, too.
struct Tiles : TileSequence {
  using Mailbox = TileMailbox<Config>;

  const Launch<Config>& launch;
  i64 rows;
  Mailbox products;
  Mailbox results;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;

  static constexpr i64 most_rows_of_rank = (Config::tile_m + Config::world - 1) / Config::world;

  __device__ Tiles(const Launch<Config>& of_launch, i64 all_rows, i64 columns)
      : launch(of_launch),
        rows(all_rows),
        products(of_launch, divide_up(all_rows, Config::tile_m) * most_rows_of_rank, columns,
                 reserved_for_images<Config>),
        results(products.next()) {}

  __device__ i64 columns() const { return products.columns(); }
  __device__ i64 count() const { return tiles_of<Config>(rows, columns()); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, rows, columns()); }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TileToSend<Config::Result> place(const TileOrigin& tile) const {
    Config::Result* const image = launch.workspace<Config::Result>() + block_index() * image_elements<Config>;
    return {{image, rows_of_tile<Config>(rows, tile.row), /*crosses_links=*/false}};
  }

  // The rows of a tile that one rank sums, as both mailboxes have them.
  struct Share {
    i64 first_row;  // of the tile
    i64 end_row;
    i64 count;  // for each rank
    Range in_mailbox;

    // Where a row of the mailbox is in the matrix, if it is one of `rank`.
    __device__ i64 row(i64 of_mailbox, i32 rank) const {
      return first_row + rank * count + of_mailbox - in_mailbox.begin;
    }
  };
  __device__ Share share_of(const TileOrigin& tile) const {
    const i64 count = rows_of_tile<Config>(rows, tile.row);
    const i64 of_rank = divide_up(count, Config::world);
    const i64 first = tile.row / Config::tile_m * most_rows_of_rank;
    return {tile.row, tile.row + count, of_rank, {first, first + of_rank}};
  }
  template <typename Body>
  __device__ void for_each_line(const Share& share, const TileOrigin& tile, ThreadGroup group, const Body& body) const {
    products.for_each_line(group, share.in_mailbox, share.in_mailbox.begin, tile.column, body);
  }

  template <typename Held>
  __device__ void send(const TileOrigin& tile, const Held& held, ThreadGroup group) const {
    const Share share = share_of(tile);
    for_each_line(share, tile, group, [&](const Mailbox::Lines& lines) {
#pragma unroll
      for (int i = 0; i < lines.count; ++i) {
        if (!lines.is_there[i]) continue;
#pragma unroll 4  // the addresses of more ranks together are more than scalar registers hold
        for (i32 offset = 0; offset < Config::world; ++offset) {
          const i32 peer = peer_at<Config::world>(launch.context, offset);
          const i64 row = share.row(lines.row[i], peer);
          Mailbox::Values values = {};
          if (row < share.end_row) values = products.load(lines, i, row - tile.row, held);
          products.send(lines, i, lines.row[i], values, peer);
        }
      }
    });
  }

  __device__ bool completes(const TileOrigin&) const { return true; }
  __device__ bool complete(const TileOrigin& tile, ThreadGroup group) const {
    const Share share = share_of(tile);
    bool arrived = true;
    for_each_line(share, tile, group, [&](const Mailbox::Lines& lines) {
      Mailbox::Lines::OfRanks of_ranks;
      arrived = arrived && products.receive(lines, of_ranks);
      if (!arrived) return;
#pragma unroll
      for (int i = 0; i < lines.count; ++i) {
        if (!lines.is_there[i]) continue;
        const i64 row = share.row(lines.row[i], launch.context.rank);
        Mailbox::Values sums = {};
        if (row < share.end_row) sums = products.finish(output, lines, i, row, reduce_packs<Config, Sum>(of_ranks[i]));
#pragma unroll 4
        for (i32 offset = 0; offset < Config::world; ++offset) {
          results.send(lines, i, lines.row[i], sums, peer_at<Config::world>(launch.context, offset));
        }
      }
    });
    for_each_line(share, tile, group, [&](const Mailbox::Lines& lines) {
      Mailbox::Lines::OfRanks of_ranks;
      arrived = arrived && results.receive(lines, of_ranks);
      if (!arrived) return;
#pragma unroll
      for (int i = 0; i < lines.count; ++i) {
        if (!lines.is_there[i]) continue;
#pragma unroll
        for (i32 rank = 0; rank < Config::world; ++rank) {
          const i64 row = share.row(lines.row[i], rank);
          if (row < share.end_row) results.store(output, lines, i, row, of_ranks[i][rank]);
        }
      }
    });
    return arrived;
  }
};

// Where a launch has tiles, its sums have waited for those of every rank, so that each has started this launch, and
// thus left the one before, before the next one refills the other ping-pong buffer. Else a barrier makes sure of that.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  Launch<Config> launch(context);
  Tiles tiles(launch, m, n);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
  if (tiles.count() == 0) same_block_barrier(launch, Wait::exit);
}
