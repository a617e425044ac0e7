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
  /// What is to come of a tile, in each of its stages.
  template <typename Product>
  struct Boxes {
    static constexpr int most = Config::stage_rows / Config::box_rows;

    const Product& product;
    i32 row;
    i64 first_gathered;
    typename StagedOperand<Config>::Box of_a[most] = {};
    u32 bytes = Config::tile_n * staged_row_bytes;

    __device__ __forceinline__ explicit Boxes(const Product& of)
        : product(of),
          row(of.a.first_row + static_cast<i32>(of.origin.row)),
          first_gathered(row / Config::tile_m * divide_up(of.a.columns, Config::tile_k)) {
      if (of.a.stages != nullptr) {
        bytes += sizeof(Block::Stage::a);
        return;
      }
#pragma unroll
      for (int box = 0; box < most; ++box) {
        of_a[box] = of.a.box_at(row_of(box));
        if (has(box)) bytes += of_a[box].rows * staged_row_bytes;
      }
    }

    __device__ __forceinline__ i32 row_of(int box) const { return row + box * Config::box_rows; }
    __device__ __forceinline__ bool has(int box) const { return box == 0 || row_of(box) < product.a.end; }
    __device__ __forceinline__ void copy_a(typename Block::Stage& stage, u64& full, i32 k) const {
      if (product.a.stages != nullptr) {
        platform::copy_in(stage.a, product.a.stages + (first_gathered + k) * GatheredStages<Config>::stage_elements,
                          sizeof(stage.a), full);
        return;
      }
#pragma unroll
      for (int box = 0; box < most; ++box) {
        if (!has(box)) continue;
        platform::copy_box(stage.a + box * Config::box_rows * Config::tile_k, of_a[box].map, k * Config::tile_k,
                           row_of(box), full);
      }
    }
    __device__ __forceinline__ void copy_b(typename Block::Stage& stage, u64& full, i32 k) const {
      const i32 column = static_cast<i32>(product.origin.column);
      if constexpr (Config::LayoutB::contiguous_along_k) {
        platform::copy_box(stage.b, product.b.maps.box, k * Config::tile_k, column, full);
      } else {
#pragma unroll
        for (int panel = 0; panel < Config::tile_n / 64; ++panel) {
          platform::copy_box(stage.b + panel * 64 * Config::tile_k, product.b.maps.box, column + panel * 64,
                             k * Config::tile_k, full);
        }
      }
    }
  };

  template <typename Tiles>
  __device__ static void load_tiles(Block& block, const Tiles& tiles, i64 first, i64 stride) {
    Turn turn;
    i32 with_b = -1;  // stages from the turn's on that have B; below 0 before the first tile
    u32 before = 0;   // slices of former tiles
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      const auto product = tiles.product(tile);
      const Boxes boxes(product);
      if constexpr (loads_b_early<Config>) {
        if (with_b < 0) {
          with_b = load_b(block, boxes);
          wait_for_stream();
        }
      }
#pragma unroll 1
      for (i32 slice = 0; slice < Tiles::slices;) {
        i32 after = Tiles::slices;
        if constexpr (waits_for_operands<Tiles>) {
          const u32 arrived = arrived_beyond(block, before + slice) % Block::no_more;
          const bool has_come = arrived > before + slice;
          if (!has_come && slice == 0 && with_b <= 0) return give_up(block, number, turn);
          if (has_come && arrived - before < Tiles::slices) after = static_cast<i32>(arrived - before);
        }
        const Range stages = {stages_of_slice<Config>(product.a.columns, slice, Tiles::slices).begin,
                              stages_of_slice<Config>(product.a.columns, after - 1, Tiles::slices).end};
        load_stages(block, boxes, stages, turn, with_b);
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

  /// Of the block's first tile, before A may be read: into how many stages, all of them free.
  template <typename Product>
  __device__ static i32 load_b(Block& block, const Boxes<Product>& boxes) {
    const auto& a = boxes.product.a;
    const i64 all = divide_up(a.columns, Config::tile_k);
    const i32 count = all < Config::early_stages ? static_cast<i32>(all) : Config::early_stages;
    for (i32 i = 0; i < count; ++i) {
      platform::arrive_and_expect(block.full[i], boxes.bytes);
      boxes.copy_b(block.stages[i], block.full[i], a.first_stage + i);
    }
    return count;
  }

  /// Of which the first `with_b` have B already.
  template <typename Product>
  __device__ static void load_stages(Block& block, const Boxes<Product>& boxes, Range stages, Turn& turn,
                                     [[maybe_unused]] i32& with_b) {
    const i32 first = boxes.product.a.first_stage;
    const i32 end = first + static_cast<i32>(stages.end);
    i32 k = first + static_cast<i32>(stages.begin);
    if constexpr (loads_b_early<Config>) {
      for (; with_b > 0 && k < end; --with_b, ++k) {
        boxes.copy_a(block.stages[turn.stage], block.full[turn.stage], k);
        turn.advance();
      }
    }
    for (; k < end; ++k) {
      auto& stage = block.stages[turn.stage];
      u64& full = block.full[turn.stage];
      platform::wait_barrier(block.empty[turn.stage], turn.parity ^ 1);
      platform::arrive_and_expect(full, boxes.bytes);
      boxes.copy_a(stage, full, k);
      boxes.copy_b(stage, full, k);
      turn.advance();
    }
  }
};

}  // namespace iris::device
