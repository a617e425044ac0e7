#pragma once

#include <iris/device/main_loop/wgmma_block.hpp>

/// How finished tiles leave the main loop of sm_90a.
namespace iris::device {

/// So many warps, behind the first, send finished tiles to their places and tell.
template <typename Config, int warps>
struct TileShipper {
  using Block = MultiplyingBlock<Config>;

  template <typename Tiles>
  __device__ static void run(Block& block, const Tiles& tiles, i64 first, i64 stride) {
    u32 shipments = 0;
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      if constexpr (Tiles::parts > 1) {
        if (tiles.parts_of(tile).count > 1) continue;  // those who multiply add it up
      }
      if (!ship_tile(block, tiles, tile, number, stride, shipments++)) return;
    }
  }

 private:
  /// False if there is no such tile, since its wait ran out of time.
  template <typename Tiles, typename Tile>
  __device__ static bool ship_tile(Block& block, const Tiles& tiles, const Tile& tile, i64 number, i64 stride,
                                   u32 shipments) {
    const int thread = thread_index() - 32;
    const auto sync_shippers = [] {
      if constexpr (warps == 1) {
        platform::sync_warp();
      } else {
        platform::sync_group_and(true, shipping_group<Config>, warps * 32);
      }
    };
    platform::wait_barrier(block.staged, shipments & 1);
    if (number == block.stop) return false;
    const auto place = tiles.place(tile);
    const bool is_last = is_last_tile(tiles, number, stride);
    if constexpr (goes_to_output<decltype(place)>) {
      if (!is_last) block.finished.template send<warps>(place, thread);
    } else if constexpr (is_sent_by_template<decltype(tiles.place(tile))>) {
      if (!is_last) tiles.send(tile, block.finished, ThreadGroup{thread, warps * 32});
    } else {
      // As long as links need for the tiles of all blocks; after the last there is nothing to hold up.
      constexpr i64 ns_of_piece = i64{Config::ship_ns} * FinishedTile<Config>::rows_of_piece / Config::tile_m;
      block.finished.send(place, thread, place.crosses_links && !is_last ? ns_of_piece : 0);
    }
    sync_shippers();
    if (thread == 0) platform::arrive(block.shipped);
    platform::wait_copies_out();
    if constexpr (warps == 1) platform::sync_warp();
    if (thread == 0) {
      tiles.tell(tile);
      block.teams.told();
    }
    return true;
  }
};

}  // namespace iris::device
