#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/tile_mailbox.hpp>

#include "../sample_config.hpp"

// Each rank has all rows of its own A and B, and gets sums.rows() rows of the sum of all ranks' products. Tiles are cut
// from all rows, so that one of them may be for several ranks: each row goes to its own, in lines that carry their own
// flags, and whoever has made a tile sums those rows of it that are for this rank. That waits for nothing but the same
// tile, which every rank makes before it waits.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  TileMailbox<Config> sums;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, i64 rows, i64 columns)
      : launch(of_launch), sums(of_launch, rows, columns, reserved_for_images<Config>) {}

  __device__ i64 rows() const { return Config::world * sums.rows(); }
  __device__ i64 count() const { return tiles_of<Config>(rows(), sums.columns()); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, rows(), sums.columns()); }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TileToSend<Config::Result> place(const TileOrigin& tile) const {
    Config::Result* const image = launch.workspace<Config::Result>() + block_index() * image_elements<Config>;
    return {{image, rows_of_tile<Config>(rows(), tile.row), /*crosses_links=*/false}};
  }
  template <typename Held>
  __device__ void send(const TileOrigin& tile, const Held& held, ThreadGroup group) const {
    const Range rows = {tile.row, end_of(tile)};
    sums.for_each_line(group, rows, first_to_send(rows), tile.column, [&](const auto& lines) {
#pragma unroll
      for (int i = 0; i < lines.count; ++i) {
        if (!lines.is_there[i]) continue;
        const i64 rank = lines.row[i] / sums.rows();
        sums.send(lines, i, lines.row[i] - rank * sums.rows(), sums.load(lines, i, lines.row[i] - tile.row, held),
                  static_cast<i32>(rank));
      }
    });
  }

  // Ranks begin with the rows of different ones, so that each link has its share all the time.
  __device__ i64 first_to_send(const Range& rows) const {
    const i64 first_rank = rows.begin / sums.rows();
    const i64 ranks = (rows.end - 1) / sums.rows() + 1 - first_rank;
    const i64 begin = (first_rank + (launch.context.rank + 1) % ranks) * sums.rows();
    return begin > rows.begin ? begin : rows.begin;
  }
  __device__ i64 end_of(const TileOrigin& tile) const { return tile.row + rows_of_tile<Config>(rows(), tile.row); }
  // Those rows of a tile that are for this rank, of which it sums so many.
  __device__ Range own_rows(const TileOrigin& tile) const {
    const i64 first = launch.context.rank * sums.rows();
    const i64 end = end_of(tile) - first;
    return {tile.row > first ? tile.row - first : 0, end < sums.rows() ? end : sums.rows()};
  }
  __device__ bool completes(const TileOrigin& tile) const {
    const Range own = own_rows(tile);
    return own.begin < own.end;
  }
  __device__ bool complete(const TileOrigin& tile, ThreadGroup group) const {
    const Range own = own_rows(tile);
    bool arrived = true;
    sums.for_each_line(group, own, own.begin, tile.column,
                       [&](const auto& lines) { arrived = arrived && sums.receive_sums(lines, output); });
    return arrived;
  }
};

// Where a launch has tiles, its sums have waited for those of every rank, so that each has started this launch, and
// thus left the one before, before the next one refills the other ping-pong buffer. Else a barrier makes sure of that.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* a, const Config::Element* b,
                                       const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n,
                                       i64 k) {
  Launch<Config> launch(context);
  Tiles tiles(launch, m / Config::world, n);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
  if (tiles.count() == 0) same_block_barrier(launch, Wait::exit);
}
