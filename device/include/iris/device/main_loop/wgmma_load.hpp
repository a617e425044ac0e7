#pragma once

#include <iris/device/main_loop/wgmma_block.hpp>

/// How operands come to the main loop of sm_90a.
namespace iris::device {

/// A warp waits for the operands of the block's tiles, ahead of the one that loads them: to see that a flag has been
/// raised, however long ago, takes as long as the products of several stages.
template <typename Config>
struct SliceWaiter {
  using Block = MultiplyingBlock<Config>;

  template <typename Tiles>
  __device__ static void run(Block& block, const Tiles& tiles, i64 first, i64 stride) {
    const ThreadGroup warp = {thread_index() % 32, 32};
    const auto add = [&](u32 count) {
      if (warp.index == 0) platform::fetch_add<Order::release, Scope::block>(&block.arrived, count);
    };
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
#pragma unroll 1
      for (i32 slice = 0; slice < Tiles::slices; ++slice) {
        if (!platform::sync_warp_and(tiles.wait(tile, slice, warp))) {
          if (warp.index == 0) block.failed = 1;
          add(Block::no_more);
          return;
        }
        platform::fence_global_for_copies();  // what has been acquired is for the accelerator
        add(1);
      }
    }
  }
};

/// A thread fills the stages, as operands come. A tile of which a later slice does not come is loaded all the same,
/// since there is no way out of a product: its result does not matter any more.
template <typename Config>
struct StageLoader {
  using Block = MultiplyingBlock<Config>;
  using Turn = StageTurn<Config>;

  /// By a warp.
  template <typename Tiles>
  __device__ static void run(Block& block, const Tiles& tiles, i64 first, i64 stride) {
    if (platform::elect()) load_tiles(block, tiles, first, stride);
  }

 private:
  template <typename Tiles>
  __device__ static void load_tiles(Block& block, const Tiles& tiles, i64 first, i64 stride) {
    Turn turn;
    bool is_first = true;
    u32 before = 0;  // slices of former tiles
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      const auto product = tiles.product(tile);
#pragma unroll 1
      for (i32 slice = 0; slice < Tiles::slices;) {
        i32 after = Tiles::slices;
        if constexpr (waits_for_operands<Tiles>) {
          const u32 arrived = arrived_beyond(block, before + slice) % Block::no_more;
          const bool has_come = arrived > before + slice;
          if (!has_come && slice == 0) return give_up(block, number, turn);
          if (has_come && arrived - before < Tiles::slices) after = static_cast<i32>(arrived - before);
        }
        const Range stages = {stages_of_slice<Config>(product.a.columns, slice, Tiles::slices).begin,
                              stages_of_slice<Config>(product.a.columns, after - 1, Tiles::slices).end};
        load_stages(block, product, stages, turn, is_first);
        is_first = false;
        slice = after;
      }
      before += Tiles::slices;
    }
  }

  /// Until more slices have come, or no more will.
  __device__ __forceinline__ static u32 arrived_beyond(Block& block, u32 slices) {
    while (true) {
      // Nothing is added: racecheck takes atomic loads for plain ones.
      const u32 arrived = platform::fetch_add<Order::acquire, Scope::block>(&block.arrived, 0U);
      if (arrived > slices) return arrived;
    }
  }

  __device__ static void give_up(Block& block, i64 number, const Turn& turn) {
    block.stop = number;
    platform::wait_barrier(block.empty[turn.stage], turn.parity ^ 1);
    platform::arrive(block.full[turn.stage]);
  }

  /// Of the block's first tile, or of another.
  template <typename Product>
  __device__ static void load_stages(Block& block, const Product& product, Range stages, Turn& turn,
                                     [[maybe_unused]] bool is_first) {
    const auto& a = product.a;
    const i32 row = a.first_row + static_cast<i32>(product.origin.row);
    const i32 column = static_cast<i32>(product.origin.column);
    const i64 first_gathered = row / Config::tile_m * divide_up(a.columns, Config::tile_k);
    constexpr int most_boxes = Config::stage_rows / Config::box_rows;
    typename StagedOperand<Config>::Box boxes[most_boxes] = {};
    const auto row_of = [&](int box) { return row + box * Config::box_rows; };
    const auto has = [&](int box) { return box == 0 || row_of(box) < a.end; };
    u32 bytes = Config::tile_n * staged_row_bytes;
    if (a.stages == nullptr) {
#pragma unroll
      for (int box = 0; box < most_boxes; ++box) {
        boxes[box] = a.box_at(row_of(box));
        if (has(box)) bytes += boxes[box].rows * staged_row_bytes;
      }
    } else {
      bytes += sizeof(block.stages[0].a);
    }
    const auto copy_a = [&](auto& stage, u64& full, i32 k) {
      if (a.stages == nullptr) {
#pragma unroll
        for (int box = 0; box < most_boxes; ++box) {
          if (!has(box)) continue;
          platform::copy_box(stage.a + box * Config::box_rows * Config::tile_k, boxes[box].map, k * Config::tile_k,
                             row_of(box), full);
        }
      } else {
        platform::copy_in(stage.a, a.stages + (first_gathered + k) * GatheredStages<Config>::stage_elements,
                          sizeof(stage.a), full);
      }
    };
    const auto copy_b = [&](auto& stage, u64& full, i32 k) {
      if constexpr (Config::LayoutB::contiguous_along_k) {
        platform::copy_box(stage.b, product.b.maps.box, k * Config::tile_k, column, full);
      } else {
#pragma unroll
        for (int panel = 0; panel < Config::tile_n / 64; ++panel) {
          platform::copy_box(stage.b + panel * 64 * Config::tile_k, product.b.maps.box, column + panel * 64,
                             k * Config::tile_k, full);
        }
      }
    };
    i32 k = a.first_stage + static_cast<i32>(stages.begin);
    if constexpr (loads_b_early<Config>) {
      if (is_first) {
        const i32 count = static_cast<i32>(stages.end - stages.begin);
        const i32 early = count < Config::early_stages ? count : Config::early_stages;
        for (i32 i = 0; i < early; ++i) {
          platform::arrive_and_expect(block.full[i], bytes);
          copy_b(block.stages[i], block.full[i], k + i);
        }
        wait_for_stream();
        for (i32 i = 0; i < early; ++i) {
          copy_a(block.stages[i], block.full[i], k + i);
          turn.advance();
        }
        k += early;
      }
    }
    for (; k < a.first_stage + stages.end; ++k) {
      auto& stage = block.stages[turn.stage];
      u64& full = block.full[turn.stage];
      platform::wait_barrier(block.empty[turn.stage], turn.parity ^ 1);
      platform::arrive_and_expect(full, bytes);
      copy_a(stage, full, k);
      copy_b(stage, full, k);
      turn.advance();
    }
  }
};

}  // namespace iris::device
