#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/tile_mailbox.hpp>

#include "../sample_config.hpp"

// Every rank sends each tile to all ranks, in lines that carry their own flags; whoever has made a tile sums what all
// have made of it. That waits for nothing but the same tile, which every rank makes before it waits.
struct Tiles : TileSequence {
  const Launch<Config>& launch;
  TileMailbox<Config> sums;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;

  __device__ Tiles(const Launch<Config>& of_launch, i64 rows, i64 columns)
      : launch(of_launch), sums(of_launch, rows, columns, reserved_for_images<Config>) {}

  __device__ i64 count() const { return tiles_of<Config>(sums.rows(), sums.columns()); }
  __device__ TileOrigin at(i64 number) const { return tile_at<Config>(number, sums.rows(), sums.columns()); }
  __device__ TileProduct<Operand<Config>> product(const TileOrigin& tile) const { return {a, b, tile}; }
  __device__ TileToSend<Config::Result> place(const TileOrigin& tile) const {
    Config::Result* const image = launch.workspace<Config::Result>() + block_index() * image_elements<Config>;
    return {{image, rows_of_tile<Config>(sums.rows(), tile.row), /*crosses_links=*/false}};
  }
  template <typename Held>
  __device__ void send(const TileOrigin& tile, const Held& held, ThreadGroup group) const {
    sums.for_each_line(group, rows_of(tile), tile.row, tile.column, [&](const auto& lines) {
#pragma unroll
      for (int i = 0; i < lines.count; ++i) {
        if (!lines.is_there[i]) continue;
        const auto values = sums.load(lines, i, lines.row[i] - tile.row, held);
#pragma unroll 4  // the addresses of more ranks together are more than scalar registers hold
        for (i32 offset = 0; offset < Config::world; ++offset) {
          sums.send(lines, i, lines.row[i], values, peer_at<Config::world>(launch.context, offset));
        }
      }
    });
  }

  __device__ Range rows_of(const TileOrigin& tile) const {
    return {tile.row, tile.row + rows_of_tile<Config>(sums.rows(), tile.row)};
  }
  __device__ bool completes(const TileOrigin&) const { return true; }
  __device__ bool complete(const TileOrigin& tile, ThreadGroup group) const {
    bool arrived = true;
    sums.for_each_line(group, rows_of(tile), tile.row, tile.column,
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
  Tiles tiles(launch, m, n);
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  multiply_tiles<Config>(tiles, block_index(), Config::blocks);
  if (tiles.count() == 0) same_block_barrier(launch, Wait::exit);
}
