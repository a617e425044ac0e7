#pragma once

#include <iris/device/main_loop.hpp>
#include <iris/device/reduce.hpp>

/// Stands in for what irisgen emits in the place of its include: the constants of the Plan. With it each template is a
/// file that compilers, editors and unit tests understand as it stands.
using namespace iris::device;

struct Config {
  using Element = f32;
  using Result = f32;
  using Accumulate = f32;
  using Operation = Sum;
  using MainLoop = FusedMultiplyAdd;
  using LayoutB = RowMajor;
  static constexpr i32 world = 4;
  static constexpr i32 root = 1;
  static constexpr i32 input_shards = 4;
  static constexpr i32 row_shards = 4;
  static constexpr i32 column_shards = 1;
  static constexpr i32 blocks = 8;
  static constexpr i32 comm_blocks = 2;
  static constexpr i32 threads = 64;
  static constexpr i32 vector = 2;
  static constexpr i32 line = 2;
  static constexpr i32 unroll = 2;
  static constexpr i32 portions = 2;
  static constexpr i32 parts = 3;
  static constexpr i32 chunk = 1024;
  static constexpr i32 ring = 4;
  static constexpr i32 tile_m = 32;
  static constexpr i32 tile_n = 32;
  static constexpr i32 tile_k = 16;
  static constexpr i32 tile_band = 2;
  static constexpr i32 cache_line = 32;
};
