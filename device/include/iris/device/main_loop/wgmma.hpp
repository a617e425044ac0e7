#pragma once

#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/platform/hopper.hpp>

/// The main loop of sm_90a, for f16 and bf16 with sums in f32: tensor copies into a ring of stages, products by whole
/// warpgroups, and finished tiles sent from shared memory.
///
/// The first warpgroup moves data: one warp fills the stages, the others ship what has been finished. Of the other
/// warpgroups each multiplies 64 rows of every tile. All walk the same tiles and meet in barriers in shared memory, so
/// that loads, products and stores of neighbouring tiles overlap.
///
/// Config names threads (384), tile_m (128), tile_n (64, 128 or 256), tile_k (64), stages, Element and Result. Rows of
/// A and of B are multiples of 16 bytes. The arrangement follows pranjalssh/fast.cu and CUTLASS's warp-specialised
/// persistent kernels; that finished tiles leave row by row in plain bulk copies, and so may go to any rank, is our
/// own.
namespace iris::device {

struct WarpgroupMma {
  /// A matrix as the tensor memory accelerator reads it.
  using Map = const TensorMap*;

  template <typename Config>
  struct Operand {
    Map map;
    i64 columns;
    i32 first_row;
    i32 slab;  // which ping-pong buffer of the workspace; 0 of other matrices

    /// The rows from `row` on. The last tile may read rows beyond the last, which never reach a result.
    __device__ __forceinline__ Operand rows(i64 row, i64 /*count*/) const {
      return {map, columns, first_row + static_cast<i32>(row), slab};
    }
    /// Number `index` of several such matrices that follow each other without a gap.
    __device__ __forceinline__ Operand slot(i64 index, i64 elements) const {
      return rows(index * elements / columns, 0);
    }
  };

  template <typename Config>
  __device__ static Operand<Config> operand(Map map, const Matrix<const typename Config::Element>& matrix) {
    return {map, matrix.columns, 0, 0};
  }
  template <typename Config>
  __device__ static Operand<Config> operand(Map map, const Launch<Config>& launch,
                                            const Matrix<const typename Config::Element>& matrix) {
    return {map, matrix.columns, 0, launch.buffer()};
  }

  static constexpr int warpgroup_threads = 128;
  static constexpr int rows_of_warpgroup = 64;
  static constexpr int depth_of_product = 16;  // of one instruction
  static constexpr int row_bytes = 128;        // of an operand in shared memory, as it is swizzled

  template <typename Config>
  struct Shared {
    using Element = typename Config::Element;
    using Result = typename Config::Result;
    static_assert(Config::tile_k * sizeof(Element) == row_bytes, "a stage is as deep as a swizzled row is long");
    static_assert(sizeof(Result) == 2 && sizeof(typename Config::Accumulate) == 4, "sums in f32 become 16 bits");
    static_assert(Config::tile_m == 2 * rows_of_warpgroup && Config::threads == 3 * warpgroup_threads,
                  "a warpgroup moves data, and two multiply 64 rows of a tile each");

    static constexpr int multiplying_warps = (Config::threads - warpgroup_threads) / 32;
    static constexpr int stage_bytes = (Config::tile_m + Config::tile_n) * row_bytes;
    static constexpr int padding = 16 / sizeof(Result);  // spreads the rows over the banks

    /// A stage of each operand: A in rows of tile_k; B in panels of 64 columns, each in rows along n.
    struct alignas(1024) Stage {
      Element a[Config::tile_m * Config::tile_k];
      Element b[Config::tile_n * Config::tile_k];
    };
    Stage stages[Config::stages];
    alignas(16) Result finished[Config::tile_m][Config::tile_n + padding];
    u64 full[Config::stages];   ///< the stage's copies have come
    u64 empty[Config::stages];  ///< its products are done
    u64 staged;                 ///< a finished tile is in shared memory
    u64 shipped;                ///< it has left
    i64 stop;                   ///< the tile whose wait ran out of time: the block gives up before it
    u32 failed;                 ///< a wait ran out of time
  };

  /// A place in the ring of stages, and the parity of its turn.
  template <typename Config>
  struct Turn {
    int stage = 0;
    u32 parity = 0;

    __device__ __forceinline__ void advance() {
      if (++stage == Config::stages) {
        stage = 0;
        parity ^= 1;
      }
    }
  };

  static constexpr i64 never = i64{1} << 62;

  template <typename Config, typename Tiles>
  __device__ static bool run(const Tiles& tiles, i64 first, i64 stride) {
    using Block = Shared<Config>;
    Block& block = shared<Block>();
    if (thread_index() == 0) {
      for (int stage = 0; stage < Config::stages; ++stage) {
        platform::init_barrier(block.full[stage], 1);
        platform::init_barrier(block.empty[stage], Config::tile_m / rows_of_warpgroup);
      }
      platform::init_barrier(block.staged, Block::multiplying_warps);
      platform::init_barrier(block.shipped, 1);
      platform::publish_barriers();
      block.stop = never;
      block.failed = 0;
    }
    sync_block();
    const int warp = thread_index() / 32;
    if (thread_index() >= warpgroup_threads) {
      multiply<Config>(block, tiles, first, stride);
    } else if (warp == 0) {
      load<Config>(block, tiles, first, stride);
    } else {
      ship<Config>(block, tiles, first, stride);
    }
    sync_block();
    return block.failed == 0;
  }

 private:
  /// A warp waits for operands, and one of its threads fills the stages.
  template <typename Config, typename Tiles>
  __device__ static void load(Shared<Config>& block, const Tiles& tiles, i64 first, i64 stride) {
    const int lane = thread_index() % 32;
    Turn<Config> turn;
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      const bool arrived = platform::sync_warp_and(tiles.wait(tile, ThreadGroup{lane, 32}));
      if (lane == 0 && !arrived) {
        block.stop = number;
        block.failed = 1;
        platform::wait_barrier(block.empty[turn.stage], turn.parity ^ 1);
        platform::arrive(block.full[turn.stage]);
      }
      if (!arrived) return;
      if (lane == 0) load_tile<Config>(block, tiles.product(tile), turn);
      platform::sync_warp();  // nobody polls for the next tile while this one is loaded
    }
  }

  template <typename Config, typename Product>
  __device__ static void load_tile(Shared<Config>& block, const Product& product, Turn<Config>& turn) {
    const i32 row = product.a.first_row + static_cast<i32>(product.origin.row);
    const i32 column = static_cast<i32>(product.origin.column);
    const i64 stages = divide_up(product.a.columns, Config::tile_k);
    platform::fence_async_copies();  // after what the waits have acquired
    for (i32 k = 0; k < stages; ++k) {
      auto& stage = block.stages[turn.stage];
      u64& full = block.full[turn.stage];
      platform::wait_barrier(block.empty[turn.stage], turn.parity ^ 1);
      platform::arrive_and_expect(full, Shared<Config>::stage_bytes);
      platform::copy_box(stage.a, product.a.map, k * Config::tile_k, row, product.a.slab, full);
#pragma unroll
      for (int panel = 0; panel < Config::tile_n / 64; ++panel) {
        platform::copy_box(stage.b + panel * 64 * Config::tile_k, product.b.map, column + panel * 64,
                           product.b.first_row + k * Config::tile_k, product.b.slab, full);
      }
      turn.advance();
    }
  }

  /// A warpgroup multiplies its 64 rows of each tile and leaves the results in shared memory.
  template <typename Config, typename Tiles>
  __device__ static void multiply(Shared<Config>& block, const Tiles& tiles, i64 first, i64 stride) {
    using Element = typename Config::Element;
    constexpr u32 a_step = depth_of_product * sizeof(Element) >> 4;  // in units of a descriptor's address
    constexpr u32 b_step = depth_of_product * row_bytes >> 4;
    const int group = thread_index() / warpgroup_threads - 1;
    Turn<Config> turn;
    u32 shipments = 0;
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      const i64 stages = divide_up(tiles.product(tile).a.columns, Config::tile_k);
      f32 sums[Config::tile_n / 2];
      platform::wait_barrier(block.full[turn.stage], turn.parity);
      if (number == block.stop) {
        platform::wait_barrier(block.shipped, ++shipments & 1);
        signal_staged<Config>(block);  // the shipping warp gives up, too
        return;
      }
      for (i32 k = 0; k < stages; ++k) {
        platform::wait_barrier(block.full[turn.stage], turn.parity);
        const auto& stage = block.stages[turn.stage];
        const u64 a = platform::matrix_descriptor(stage.a + group * rows_of_warpgroup * Config::tile_k, 0);
        const u64 b = platform::matrix_descriptor(stage.b, 64 * row_bytes);
        platform::begin_products();
#pragma unroll
        for (int i = 0; i < Config::tile_k / depth_of_product; ++i) {
          platform::multiply_16<Element, true, Config::tile_n>(sums, a + i * a_step, b + i * b_step, k + i);
        }
        platform::commit_products();
        platform::wait_products();
        if (thread_index() % warpgroup_threads == 0) platform::arrive(block.empty[turn.stage]);
        turn.advance();
      }
      platform::wait_barrier(block.shipped, ++shipments & 1);
      stage_results<Config>(block, group * rows_of_warpgroup, sums);
    }
  }

  template <typename Config>
  __device__ static void signal_staged(Shared<Config>& block) {
    platform::sync_warp();
    if (thread_index() % 32 == 0) platform::arrive(block.staged);
  }

  /// The sums of a warpgroup's rows, rounded once.
  template <typename Config>
  __device__ static void stage_results(Shared<Config>& block, int first_row, const f32 (&sums)[Config::tile_n / 2]) {
    using Result = typename Config::Result;
    const int lane = thread_index() % 32;
    const int row = first_row + thread_index() % warpgroup_threads / 32 * 16;
#pragma unroll
    for (int column = 0; column < Config::tile_n; column += 16) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const f32* const values = sums + column / 2 + 2 * i;
        const Pack<Result, 2> pair = {{convert<Result>(values[0]), convert<Result>(values[1])}};
        pairs[i] = __builtin_bit_cast(u32, pair);
      }
      Result* const to = &block.finished[row + lane % 16][column + lane / 16 * 8];
      platform::store_matrices(to, pairs[0], pairs[1], pairs[2], pairs[3]);
    }
    platform::fence_async_copies();
    signal_staged(block);
  }

  /// Three warps send finished tiles to their places, tell, and complete what is to be completed.
  template <typename Config, typename Tiles>
  __device__ static void ship(Shared<Config>& block, const Tiles& tiles, i64 first, i64 stride) {
    const ThreadGroup group = {thread_index() - 32, warpgroup_threads - 32};
    bool stopped = false;  // of the first warp: no more tiles come
    bool going = true;
    u32 shipments = 0;
    for (i64 number = first; number < tiles.count(); number += stride) {
      const auto tile = tiles.at(number);
      if (!tiles.has(tile)) continue;
      if (group.index < 32 && !stopped) stopped = !ship_tile<Config>(block, tiles, tile, number, shipments++);
      if (!tiles.completes(tile)) continue;
      going = platform::sync_group_and(going && !stopped, group.size);
      going = platform::sync_group_and(going && tiles.wait_to_complete(tile, group), group.size);
      if (going) tiles.complete(tile, group);
    }
    if (!going) block.failed = 1;
  }

  /// By one warp; false if there is no such tile, since its wait ran out of time.
  template <typename Config, typename Tiles, typename Tile>
  __device__ static bool ship_tile(Shared<Config>& block, const Tiles& tiles, const Tile& tile, i64 number,
                                   u32 shipments) {
    using Result = typename Config::Result;
    const int lane = thread_index() % 32;
    const auto place = tiles.place(tile);
    const Matrix<Result>& to = place.matrix;
    const i64 rows_left = to.rows - place.origin.row;
    const i64 columns_left = to.columns - place.origin.column;
    const int rows = static_cast<int>(rows_left < Config::tile_m ? rows_left : Config::tile_m);
    const int columns = static_cast<int>(columns_left < Config::tile_n ? columns_left : Config::tile_n);
    Result* const corner = to.data + place.origin.row * to.stride + place.origin.column;
    platform::wait_barrier(block.staged, shipments & 1);
    if (number == block.stop) return false;
    if (to.takes_packs(16 / sizeof(Result))) {
      for (int row = lane; row < rows; row += 32) {
        platform::copy_out(corner + row * to.stride, block.finished[row], columns * sizeof(Result));
      }
      platform::commit_copies_out();
      platform::wait_copies_out_read();
    } else {
      for (int row = 0; row < rows; ++row) {
        for (int i = lane; i < columns; i += 32) corner[row * to.stride + i] = block.finished[row][i];
      }
    }
    platform::sync_warp();
    if (lane == 0) platform::arrive(block.shipped);
    platform::wait_copies_out();
    platform::sync_warp();
    if (lane == 0) tiles.tell(tile);
    return true;
  }
};

}  // namespace iris::device
