#pragma once

#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/platform/hopper.hpp>

namespace iris::device {

/// Teams of two warps, which complete the tiles that a block of sm_90a's main loop has shipped, part by part: one team
/// all the time, those that multiply once they are done, so that little is left after the last product. In shared
/// memory.
template <typename Config>
struct TileTeams {
  static constexpr int team_threads = 64;
  static constexpr u32 parts_of_tile = 4;
  static constexpr int most = Config::threads / team_threads - 1;

  /// By one thread, before all others begin.
  __device__ __forceinline__ void begin() {
    tiles_told_ = 0;
    parts_taken_ = 0;
  }

  /// By one thread: the next tile has been told of.
  __device__ __forceinline__ void told() { platform::fetch_add<Order::release, Scope::block>(&tiles_told_, 1U); }

  /// By all threads of a team; the first one is the block's second pair of warps. Ends early where `failure` is set,
  /// and sets it where a wait ran out of time.
  template <typename Tiles>
  __device__ void complete(const Tiles& tiles, i64 first, i64 stride, u32& failure) {
    const int team = thread_index() / team_threads - 1;
    const ThreadGroup members = {thread_index() % team_threads, team_threads};
    const auto failed = [&] { return platform::atomic_load<Order::relaxed, Scope::block>(&failure) != 0; };
    Completion at = {.number = first};
    i64 waited_for = -1;
    while (true) {
      if (members.index == 0) {
        part_[team] = platform::fetch_add<Order::relaxed, Scope::block>(&parts_taken_, 1U);
        find_part(at, part_[team], tiles, stride);
        // Nothing is added: racecheck takes atomic loads for plain ones.
        while (at.has && !failed() && platform::fetch_add<Order::acquire, Scope::block>(&tiles_told_, 0U) <= at.tiles) {
        }
      }
      platform::sync_group_and(true, team, team_threads);
      const u32 part = part_[team];
      find_part(at, part, tiles, stride);
      if (!at.has) return;
      const auto tile = tiles.at(at.number);
      const bool arrived = !failed() && (waited_for == at.number || tiles.wait_to_complete(tile, members));
      if (!platform::sync_group_and(arrived, team, team_threads)) {
        failure = 1;
        return;
      }
      waited_for = at.number;
      const i64 before = part - at.parts;
      const ThreadGroup group = {before * team_threads + members.index, parts_of_tile * team_threads};
      if constexpr (completes_or_fails<Tiles, decltype(tiles.at(at.number))>) {
        if (!tiles.complete(tile, group)) failure = 1;
      } else {
        tiles.complete(tile, group);
      }
    }
  }

 private:
  /// Where a team's walk through the tiles has come to.
  struct Completion {
    i64 number;       ///< of the tile
    u32 tiles = 0;    ///< before it
    u32 parts = 0;    ///< before its own, of tiles that are to be completed
    bool has = true;  ///< there is one
  };

  /// Goes on to the tile of which `part` is one, counted from the block's first.
  template <typename Tiles>
  __device__ __forceinline__ static void find_part(Completion& at, u32 part, const Tiles& tiles, i64 stride) {
    for (; at.number < tiles.count(); at.number += stride) {
      const auto tile = tiles.at(at.number);
      if (!tiles.has(tile)) continue;
      if (tiles.completes(tile) && part - at.parts < parts_of_tile) return;
      if (tiles.completes(tile)) at.parts += parts_of_tile;
      ++at.tiles;
    }
    at.has = false;
  }

  u32 tiles_told_;   // tiles that have been told of
  u32 parts_taken_;  // of tiles that are completed: parts that a team has taken
  u32 part_[most];   // which each team has
};

}  // namespace iris::device
