#pragma once

#include <iris/device/main_loop/wgmma_finished.hpp>
#include <iris/device/main_loop/wgmma_layout.hpp>
#include <iris/device/main_loop/wgmma_teams.hpp>

/// What the warps of a block have in common that multiply on sm_90a: shared memory, the ring of stages in it, and the
/// barriers where they meet.
namespace iris::device {

constexpr int warpgroup_threads = 128;

/// Its shared memory.
template <typename Config>
struct MultiplyingBlock {
  using Element = typename Config::Element;
  static_assert(Config::tile_k * sizeof(Element) == staged_row_bytes, "a stage is as deep as a swizzled row is long");
  static_assert((sizeof(typename Config::Result) == 2 || sizeof(typename Config::Result) == 4) &&
                    sizeof(typename Config::Accumulate) == 4,
                "sums in f32 become 16 bits, or stay what they are");
  static_assert((Config::tile_m == 2 * rows_of_warpgroup || Config::tile_m == rows_of_warpgroup) &&
                    Config::threads == 3 * warpgroup_threads,
                "a warpgroup moves data, and two multiply 64 rows of a tile each, or one does");
  static_assert(Config::stage_groups == 1 || (Config::stage_groups == 2 && Config::stage_rows <= rows_of_warpgroup),
                "where a stage has rows for one, both may take stages in turn");

  static constexpr i64 never = i64{1} << 62;  ///< a tile that there is not, to stop at
  static constexpr u32 no_more = 1U << 31;    ///< slices come, since a wait ran out of time
  static constexpr int handed_over = Config::stage_groups == 2 ? rows_of_warpgroup * Config::tile_n : 1;  ///< sums
  static constexpr int multiplying_warps = (Config::threads - warpgroup_threads) / 32;

  /// A stage of each operand: A in rows of tile_k; B in the same way where it is contiguous along k, else in panels
  /// of 64 columns, each in rows along n.
  struct alignas(1024) Stage {
    Element a[Config::stage_rows * Config::tile_k];
    Element b[Config::tile_n * Config::tile_k];
  };
  Stage stages[Config::stages];
  union {
    FinishedTile<Config> finished;
    f32 sums_of_second[handed_over];  ///< on their way to the first warpgroup
  };
  u64 full[Config::stages];   ///< the stage's copies have come
  u64 empty[Config::stages];  ///< its products are done
  u64 staged;                 ///< a finished tile is in shared memory
  u64 shipped;                ///< it has left
  u64 fetched[2];             ///< a piece is there that is sent beside the products
  i64 stop;                   ///< the tile whose wait ran out of time: the block gives up before it
  u32 failed;                 ///< a wait ran out of time
  u32 arrived;                ///< slices of operands that have come, of all tiles, and no_more
  TileTeams<Config> teams;    ///< that complete tiles
};

/// A place in the ring of stages, and the parity of its turn.
template <typename Config>
struct StageTurn {
  int stage = 0;
  u32 parity = 0;

  template <int by = 1>
  __device__ __forceinline__ void advance() {
    stage += by;
    if (stage >= Config::stages) {
      stage -= Config::stages;
      parity ^= 1;
    }
  }
};

// Groups of threads that meet in barriers, beside the teams.
template <typename Config>
constexpr u32 multiplying_group = TileTeams<Config>::most;
template <typename Config>
constexpr u32 shipping_group = multiplying_group<Config> + 1;
template <typename Config>
constexpr u32 first_warpgroup = shipping_group<Config> + 1;

/// Whether a tile belongs in the output matrix, rather than in an image that other ranks are sent.
template <typename Place>
constexpr bool goes_to_output = requires(const Place& place) { place.matrix; };

/// Whether operands are waited for: by a function of the template's own, not TileSequence's.
template <typename Tiles>
constexpr bool waits_for_operands = requires { &Tiles::wait; };

/// Whether early_stages of B come before A may be read: while rows of A are on their way, or while the launch ends that
/// the stream has before this one, if B was there before that began. In the latter case not the entry waits for the
/// stream, but every thread that reads or writes anything else; a launch that begins behind the other has nothing to
/// wait for.
template <typename Config>
constexpr bool loads_b_early = requires { Config::early_stages; };

/// Whether the block has no other tile after that one, so that those who multiply have time to send it.
template <typename Tiles>
__device__ __forceinline__ bool is_last_tile(const Tiles& tiles, i64 number, i64 stride) {
  return number + stride >= tiles.count();
}

}  // namespace iris::device
