#pragma once

#include "iris/device/main_loop.hpp"
#include "iris/device/main_loop/wgmma.hpp"

namespace emulated_products {

using namespace iris::device;

/// What the Plan decides for the main loop of sm_90a, of one rank.
template <typename T, typename R, typename Layout, i32 columns, i32 stages_, i32 rows_of_stage = 128, i32 parts_ = 1>
struct Alone {
  using Element = T;
  using Result = R;
  using Accumulate = f32;
  using MainLoop = WarpgroupMma;
  using LayoutB = Layout;
  static constexpr i32 world = 1;
  static constexpr i32 parts = parts_;
  static constexpr i32 blocks = 4;
  static constexpr i32 comm_blocks = 2;
  static constexpr i32 threads = 384;
  static constexpr i32 unroll = 2;
  static constexpr i32 vector = 16 / sizeof(T);
  static constexpr i32 tile_m = 128;
  static constexpr i32 tile_n = columns;
  static constexpr i32 tile_k = 128 / sizeof(T);
  static constexpr i32 tile_band = 2;
  static constexpr i32 stage_rows = rows_of_stage;
  static constexpr i32 box_rows = rows_of_stage;
  static constexpr i32 stages = stages_;
  static constexpr i32 stage_groups = 1;
  static constexpr i32 ship_ns = 64;
};

/// Alone of several ranks. Rows of A travel in boxes of so many.
template <i32 ranks, i32 rows_of_box = 128>
struct Together : Alone<f16, f16, ColumnMajor, 128, 4> {
  static constexpr i32 world = ranks;
  static constexpr i32 row_shards = ranks;
  static constexpr i32 column_shards = 1;
  static constexpr i32 box_rows = rows_of_box;
};

}  // namespace emulated_products
