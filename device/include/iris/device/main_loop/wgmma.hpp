#pragma once

#include <iris/device/main_loop/wgmma_gather.hpp>
#include <iris/device/main_loop/wgmma_load.hpp>
#include <iris/device/main_loop/wgmma_parts.hpp>
#include <iris/device/main_loop/wgmma_ship.hpp>

/// The main loop of sm_90a, for tf32, f16, bf16 and e4m3 with sums in f32: tensor copies into a ring of stages,
/// products by whole warpgroups, and finished tiles sent from shared memory.
///
/// The first warpgroup moves data: one warp fills the stages, one ships finished tiles, two complete them, or ship
/// them, too. Where rows of other ranks are multiplied, the last waits for these, and a thread of the one before may
/// send this rank's. Of the other warpgroups each multiplies 64 rows of every tile, or one makes it transposed, or, of
/// 64 rows and less, one or both in turn, stage by stage, which the first adds up; those of the last it sends itself if
/// they go to the output; then it helps to complete. All walk the same tiles and meet in barriers in shared memory, so
/// that loads, products and stores of neighbouring tiles overlap.
///
/// Config names threads (384), tile_m (128 or 64), tile_n (a multiple of 32 from 64 to 256), tile_k (128 bytes of
/// elements), stages, stage_rows (tile_m, or what there is), stage_groups (of warpgroups that take stages in turn: 1,
/// or 2 of no more than 64 rows, of whole tiles whose operands nobody waits for), box_rows (of A in one copy; they
/// divide stage_rows), LayoutB, Element and Result; where finished tiles are images, ship_ns (nanoseconds in which one
/// leaves for another rank); and early_stages, where so many of B come before A may be read. B that is not contiguous
/// along k takes a tile_n of 64, 128, 192 or 256. Elements of 8 and 32 bits are contiguous along k in B, too, and
/// tile_n is 192 at most of the former, since each sum takes two registers, and 128 of the latter, whose results take
/// twice the shared memory. Tensor copies round f32 to tf32. Rows of A and of B are multiples of 16 bytes. The
/// arrangement follows pranjalssh/fast.cu and CUTLASS's warp-specialised persistent kernels; that finished tiles leave
/// row by row in plain bulk copies, and so may go to any rank, is our own.
namespace iris::device {

struct WarpgroupMma {
  using Map = BoxMaps;
  template <typename Config>
  using Operand = StagedOperand<Config>;

  template <typename Config>
  __device__ static Operand<Config> operand(const Map& maps, const Matrix<const typename Config::Element>& matrix) {
    return {.maps = maps, .end = matrix.rows, .columns = matrix.columns};
  }
  template <typename Config>
  __device__ __forceinline__ static TileProduct<Operand<Config>> along_k(TileProduct<Operand<Config>> product,
                                                                         const Range& depth) {
    product.a.first_stage = static_cast<i32>(depth.begin / Config::tile_k);
    product.a.columns = depth.end - depth.begin;
    return product;
  }

  static constexpr bool holds_finished_tiles = true;

  static constexpr i32 gathered_slices = stage_slices;
  template <typename Config>
  using Gathered = GatheredStages<Config>;

  static constexpr int product_bytes = 32;  // along k, of one instruction

  /// A TileImage is a finished tile as it lies in shared memory.
  template <typename Config, int width, int count>
  __device__ __forceinline__ static ImageIndex<Config, width, count> image_index(
      const PacksOfTile<width, count>& packs) {
    return {packs};
  }

  template <typename Config>
  union Memory {
    MultiplyingBlock<Config> multiplying;
    typename StagePush<Config>::Ring pushing;
  };

  template <typename Config>
  struct PushingMemory {
    typename StagePushBeside<Config>::Pieces pieces;
    MultiplyingBlock<Config> multiplying;
  };

  template <typename Config, typename Tell>
  __device__ __forceinline__ static void push(const Context& context, const Operand<Config>& own,
                                              const Gathered<Config>& gathered, i64 block, i64 blocks,
                                              const Tell& tell) {
    StagePush<Config>::run(shared<Memory<Config>>().pushing, context, own, gathered, block, blocks, tell);
  }

  template <typename Config>
  __device__ __forceinline__ static void push_slice(const Context& context,
                                                    const Matrix<const typename Config::Element>& own,
                                                    const Gathered<Config>& gathered, i64 first_row, i32 slice,
                                                    i32 slices, const ThreadGroup& group) {
    const Range stages = stages_of_slice<Config>(gathered.k, slice, slices);
    SlicePush<Config>::run(context, own, gathered, first_row, stages, group);
  }

  template <typename Config, typename Tiles>
  __device__ __forceinline__ static bool run(const Tiles& tiles, i64 first, i64 stride) {
    constexpr int free_warps = completes_tiles<Tiles> ? 0 : waits_for_operands<Tiles> ? 1 : 2;  // the last ones
    return run<Config, 1 + free_warps>(shared<Memory<Config>>().multiplying, tiles, first, stride, [] {});
  }

  template <typename Config>
  __device__ __forceinline__ static Senders senders_of(i64 slice) {
    return SlicesOfBlocks<Config>::senders_of(slice);
  }

  template <typename Config, typename Tell, typename Tiles>
  __device__ __forceinline__ static bool push_and_run(const Context& context, const Operand<Config>& own,
                                                      const Gathered<Config>& gathered, const Tell& tell,
                                                      const Tiles& tiles) {
    auto& memory = shared<PushingMemory<Config>>();
    return run<Config, 1>(memory.multiplying, tiles, block_index(), Config::blocks, [&] {
      StagePushBeside<Config>::run(memory.pieces, memory.multiplying.fetched, context, own, gathered, tell);
    });
  }

 private:
  /// By a function of its own, not TileSequence's.
  template <typename Tiles>
  static constexpr bool completes_tiles = requires { &Tiles::complete; };

  /// Whether those that multiply have more to do with a tile, beside the sums of 256 columns, than leave room for.
  template <typename Config, typename Tiles>
  static constexpr bool is_crowded =
      Config::tile_n > 224 && (Tiles::parts > 1 || (EpilogueOf<Config>::is_there && !completes_tiles<Tiles>));

  /// Registers that a thread of the first warpgroup keeps, where those that multiply need more than a third of a
  /// compute unit's for each warpgroup; else 0.
  template <typename Config, typename Tiles>
  static constexpr int kept_registers = sizeof(typename Config::Element) == 1 ? (Config::tile_n > 128 ? 56 : 0)
                                        : is_crowded<Config, Tiles>           ? 72
                                                                              : 0;
  static constexpr int third_of_registers = 168;

  static constexpr int waiting_warp = 3;
  static constexpr int warpgroups = 2;  // that multiply

  /// Whether one warp ships tiles, though others are free. Products of more than 8 bits last longer than that takes it,
  /// and those who ship disturb them: two more by 1 to 2 %, measured on an H100. But it takes three times as long where
  /// rows of the output begin anywhere.
  template <typename Config, typename Tiles>
  __device__ __forceinline__ static bool one_warp_ships(const Tiles& tiles) {
    if constexpr (sizeof(typename Config::Element) == 1) return false;
    using Tile = decltype(tiles.at(0));
    if constexpr (goes_to_output<decltype(tiles.place(Tile{}))>) {
      return tiles.place(Tile{}).matrix.takes_packs(16 / sizeof(typename Config::Result));  // as that of any tile
    }
    return true;
  }

  /// Up to `shippers` warps ship finished tiles. The first thread of those that complete tiles does `beside` before.
  template <typename Config, int shippers, typename Tiles, typename Beside>
  __device__ static bool run(MultiplyingBlock<Config>& block, const Tiles& tiles, i64 first, i64 stride,
                             const Beside& beside) {
    using Block = MultiplyingBlock<Config>;
    static_assert(!waits_for_operands<Tiles> || (shippers < waiting_warp && !completes_tiles<Tiles>),
                  "the last warp has one thing to do");
    static_assert(Config::stage_groups == 1 || (!waits_for_operands<Tiles> && Tiles::parts == 1),
                  "all that multiply see at which stage a block gives up, and parts are of two warpgroups' rows");
    static_assert(Config::tile_m == warpgroups * rows_of_warpgroup || Tiles::parts == 1,
                  "parts are of two warpgroups' rows");
    if (thread_index() == 0) {
      for (int stage = 0; stage < Config::stages; ++stage) {
        platform::init_barrier(block.full[stage], 1);
        platform::init_barrier(block.empty[stage], warpgroups / Config::stage_groups);
      }
      platform::init_barrier(block.staged, Block::multiplying_warps);
      platform::init_barrier(block.shipped, 1);
      for (u64& fetched : block.fetched) platform::init_barrier(fetched, 1);
      platform::publish_barriers();
      block.stop = Block::never;
      block.failed = 0;
      block.arrived = 0;
      block.teams.begin();
    }
    sync_block();
    const int warp = platform::uniform(thread_index() / 32);
    if constexpr (loads_b_early<Config>) {
      if (warp != 0) wait_for_stream();
    }
    const bool multiplies = warp >= warpgroup_threads / 32;
    if constexpr (kept_registers<Config, Tiles> > 0) {
      if (multiplies) {
        platform::take_registers<(3 * third_of_registers - kept_registers<Config, Tiles>) / 2>();
      } else {
        platform::leave_registers<kept_registers<Config, Tiles>>();
      }
    }
    if (multiplies) {
      multiply<Config>(block, tiles, first, stride);
    } else if (warp == 0) {
      StageLoader<Config>::run(block, tiles, first, stride);
    } else if (warp <= shippers) {
      if (shippers > 1 && !one_warp_ships<Config>(tiles)) {
        TileShipper<Config, shippers>::run(block, tiles, first, stride);
      } else if (warp == 1) {
        TileShipper<Config, 1>::run(block, tiles, first, stride);
      }
    } else if (warp == waiting_warp) {
      if constexpr (waits_for_operands<Tiles>) SliceWaiter<Config>::run(block, tiles, first, stride);
    }
    if (thread_index() == TileTeams<Config>::team_threads) beside();
    platform::sync_warp();
    if constexpr (completes_tiles<Tiles>) {
      if (warp >= 2) block.teams.complete(tiles, first, stride, block.failed);
    }
    sync_block();
    return block.failed == 0;
  }

  /// A warpgroup multiplies its 64 rows of each tile, or one all columns, or its stages of 64 rows, and leaves the
  /// results in shared memory.
  template <typename Config, typename Tiles>
  __device__ static void multiply(MultiplyingBlock<Config>& block, const Tiles& tiles, i64 first, i64 stride) {
    using Element = typename Config::Element;
    constexpr bool transposed = !Config::LayoutB::contiguous_along_k;
    constexpr int depth_of_product = product_bytes / sizeof(Element);
    constexpr u32 a_step = product_bytes >> 4;  // in units of a descriptor's address
    constexpr u32 b_step = transposed ? depth_of_product * staged_row_bytes >> 4 : a_step;
    // Of 8-bit elements the accelerator adds with 14 bits or so: the sums of each stage are added up here.
    constexpr bool adds_stages = sizeof(Element) == 1;
    constexpr int pending =
        Config::stages > 3 && !adds_stages ? 1 : 0;  // stages whose products go on beside the next's
    const int group = platform::uniform(thread_index() / warpgroup_threads) - 1;
    constexpr bool by_columns = multiplies_columns<Config> && Tiles::parts == 1;
    constexpr int width = by_columns ? Config::tile_m : Config::tile_n;
    constexpr bool by_rows = Config::stage_rows > rows_of_warpgroup && !by_columns;
    constexpr int groups = Config::stage_groups;
    const bool multiplies = by_rows || groups == warpgroups || group == 0;
    const bool has_results = by_rows || group == 0;
    StageTurn<Config> turn;
    i32 first_stage = 0;  // of the tile's, that the warpgroup takes
    if (groups == warpgroups && group == 1) {
      turn.advance();
      first_stage = 1;
    }
    StageTurn<Config> freed = turn;
    u32 shipments = 0;
    [[maybe_unused]] bool arrived = true;
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      const auto product = tiles.product(tile);
      i32 stages = static_cast<i32>(divide_up(product.a.columns, Config::tile_k));
      // Else a loop over few stages becomes one copy of each with registers of its own for the sums, which do not
      // suffice.
      if constexpr (adds_stages) stages = platform::opaque(stages);
      f32 scale = 1;
      if constexpr (Scales<Element>::are_there) scale = product.b.scales.product();
      f32 sums[width / 2];
      if constexpr (!adds_stages) {
#pragma unroll
        for (f32& sum : sums) sum = 0;
        platform::fence_sums(sums);
      }
      f32 totals[adds_stages ? width / 2 : 1] = {};
      if constexpr (waits_for_operands<Tiles>) {
        platform::wait_barrier(block.full[turn.stage], turn.parity);
        if (number == block.stop) {
          platform::wait_barrier(block.shipped, ++shipments & 1);
          signal_staged<Config>(block);  // the shipping warp gives up, too
          return;
        }
      }
      for (i32 k = first_stage; k < stages; k += groups) {
        platform::wait_barrier(block.full[turn.stage], turn.parity);
        const auto& stage = block.stages[turn.stage];
        const u32 rows_of_a = platform::shared_address(stage.a);
        const u32 rows_of_b = platform::shared_address(stage.b);
        const u32 first_row = by_rows ? group * rows_of_warpgroup : 0;
        const u32 own_rows = by_columns ? rows_of_b : rows_of_a + first_row * staged_row_bytes;
        const u32 a = platform::matrix_descriptor(own_rows, 0);
        const u32 b =
            platform::matrix_descriptor(by_columns ? rows_of_a : rows_of_b, transposed ? 64 * staged_row_bytes : 0);
        if (multiplies) {
          platform::begin_products();
#pragma unroll
          for (int i = 0; i < Config::tile_k / depth_of_product; ++i) {
            const u32 add = adds_stages ? i : 1;
            platform::multiply_32_bytes<Element, transposed, width>(sums, a + i * a_step, b + i * b_step, add);
          }
          platform::commit_products();
          platform::wait_products<pending>();
          if constexpr (adds_stages) add_to(totals, sums);
        }
        if (k >= first_stage + pending * groups) free_stage<Config>(block, freed);
        turn.template advance<groups>();
      }
      platform::wait_products();
      platform::fence_sums(sums);
      if (pending > 0 && (groups == 1 || first_stage < stages)) free_stage<Config>(block, freed);
      if constexpr (groups == warpgroups) first_stage = (first_stage + stages) % groups;
      if constexpr (adds_stages) {
#pragma unroll
        for (int i = 0; i < width / 2; ++i) sums[i] = totals[i] * scale;
      }
      if constexpr (Tiles::parts > 1) {
        const TileParts<Config> parts = tiles.parts_of(tile);
        if (parts.count > 1) {
          platform::wait_barrier(block.shipped, ~shipments & 1);  // what has been there has left
          arrived = arrived && add_part<Config>(block, tiles, tile, parts, sums);
          continue;
        }
      }
      platform::wait_barrier(block.shipped, ++shipments & 1);
      if constexpr (groups == warpgroups) add_sums_of_second<Config>(block, group, sums);
      const auto place = tiles.place(tile);
      constexpr bool to_output = goes_to_output<decltype(tiles.place(tile))>;
      constexpr bool by_template = is_sent_by_template<decltype(tiles.place(tile))>;
      constexpr u32 threads = MultiplyingBlock<Config>::multiplying_warps * 32;
      const bool sends = (to_output || by_template) && is_last_tile(tiles, number, stride);
      if constexpr (by_columns) {
        if (has_results) block.finished.put_columns(place, sums);
      } else if (has_results) {
        block.finished.put(place, group * rows_of_warpgroup, sums);
      }
      if (sends && (by_columns || by_template)) platform::sync_group_and(true, multiplying_group<Config>, threads);
      if constexpr (to_output) {
        if (sends && (has_results || by_columns)) block.finished.send_own_rows(place, group * rows_of_warpgroup);
      }
      if constexpr (by_template) {
        const ThreadGroup all = {platform::opaque(thread_index() - warpgroup_threads), threads};
        if (sends) tiles.send(tile, block.finished, all);
      }
      signal_staged<Config>(block);
    }
    if (!arrived) block.failed = 1;
  }

  /// Of a tile that several blocks make. False on all threads that multiply if the other parts did not come in time.
  template <typename Config, typename Tiles, typename Tile>
  __device__ __forceinline__ static bool add_part(MultiplyingBlock<Config>& block, const Tiles& tiles, const Tile& tile,
                                                  const TileParts<Config>& parts,
                                                  const f32 (&sums)[Config::tile_n / 2]) {
    using Squares = PartsBySquares<Config>;
    constexpr u32 threads = Squares::warps * 32;
    const TilePlace<Config> place = tiles.place(tile);
    const ThreadGroup group = {platform::opaque(thread_index() - warpgroup_threads), threads};
    const int warp = static_cast<int>(group.index) / 32;
    const bool has_rows = warp * Squares::side < rows_of_tile<Config>(place.matrix.rows, place.origin.row);
    static_assert(Squares::own_bytes <= sizeof(block.finished));
    f32* const own = reinterpret_cast<f32*>(&block.finished);
    if (has_rows) Squares::leave(parts, own, warp, sums);
    platform::sync_group_and(true, multiplying_group<Config>, threads);
    if (group.index == 0) tiles.tell(tile);
    if (!platform::sync_group_and(tiles.wait_for_parts(tile, group), multiplying_group<Config>, threads)) return false;
    if (has_rows) Squares::add_share(parts, place, own, warp);
    return true;
  }

  template <int count>
  __device__ __forceinline__ static void add_to(f32 (&totals)[count], const f32 (&sums)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) totals[i] += sums[i];
  }

  /// The first warpgroup's sums become those of both. The place of finished tiles is free, and so it is afterwards for
  /// the first.
  template <typename Config, int count>
  __device__ __forceinline__ static void add_sums_of_second(MultiplyingBlock<Config>& block, int group,
                                                            f32 (&sums)[count]) {
    f32* const four_of = block.sums_of_second + platform::opaque(thread_index() % warpgroup_threads) * 4;
    if (group == 1) {
#pragma unroll
      for (int i = 0; i < count; i += 4) {
        const Pack<f32, 4> four = {{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}};
        reinterpret_cast<Pack<f32, 4>&>(four_of[i * warpgroup_threads]) = four;
      }
    }
    platform::sync_group_and(true, multiplying_group<Config>, warpgroups * warpgroup_threads);
    if (group == 1) return;
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      const auto four = reinterpret_cast<const Pack<f32, 4>&>(four_of[i * warpgroup_threads]);
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i + j] += four[j];
    }
    platform::sync_group_and(true, first_warpgroup<Config>, warpgroup_threads);
  }

  template <typename Config>
  __device__ __forceinline__ static void free_stage(MultiplyingBlock<Config>& block, StageTurn<Config>& freed) {
    if (thread_index() % warpgroup_threads == 0) platform::arrive(block.empty[freed.stage]);
    freed.template advance<Config::stage_groups>();
  }

  template <typename Config>
  __device__ static void signal_staged(MultiplyingBlock<Config>& block) {
    platform::sync_warp();
    if (thread_index() % 32 == 0) platform::arrive(block.staged);
  }
};

}  // namespace iris::device
