// The main loops of sm_90a in which warps multiply, on the CPU: their threads are fibers of the seeded engine, and what
// the hardware does stands in emulated/. Products of small integers, whose sums are exact in any order.
#include <gtest/gtest.h>

#include "iris/device/main_loop.hpp"
#include "iris/device/main_loop/fma_staged.hpp"
#include "iris/device/main_loop/mma.hpp"
#include "iris/device/main_loop/mma_packed.hpp"
#include "iris/device/signal.hpp"
#include "tests/device/emulated_products.hpp"

// Templates include it once more, to no effect: they take the Config of the namespace that they are in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace {

using namespace iris::device;
using namespace emulated_products;

/// What the Plan decides.
template <typename Loop, typename T, typename R, typename Layout, i32 rows = 64, i32 columns = 64, i32 parts_ = 1>
struct Alone {
  using Element = T;
  using Result = R;
  using Accumulate = std::conditional_t<sizeof(T) == 8, f64, f32>;
  using MainLoop = Loop;
  using LayoutB = Layout;
  static constexpr i32 world = 1;
  static constexpr i32 parts = parts_;
  static constexpr i32 blocks = 4;
  static constexpr i32 threads = 256;
  static constexpr i32 unroll = 2;
  static constexpr i32 vector = 16 / sizeof(T);
  static constexpr i32 tile_m = rows;
  static constexpr i32 tile_n = columns;
  static constexpr i32 tile_k = 128 / sizeof(T);
  static constexpr i32 tile_band = 2;
};

namespace contiguous_along_k {
struct Config : Alone<PackedWarpMma, bf16, bf16, ColumnMajor> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace contiguous_along_k
namespace contiguous_along_n {
struct Config : Alone<PackedWarpMma, f16, f16, RowMajor> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace contiguous_along_n
namespace large {
struct Config : Alone<PackedWarpMma, bf16, bf16, RowMajor, 128, 128> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace large
namespace bytes {
struct Config : Alone<PackedWarpMma, e4m3, bf16, ColumnMajor, 64, 128> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace bytes
namespace parts {
struct Config : Alone<PackedWarpMma, bf16, bf16, ColumnMajor, 64, 64, 2> {};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace parts
namespace singles {
struct Config : Alone<StagedMultiplyAdd, f32, f32, ColumnMajor> {
  static constexpr i32 tile_k = 16;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace singles
namespace doubles_along_k {
struct Config : Alone<WarpMma, f64, f64, ColumnMajor> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace doubles_along_k
namespace doubles_along_n {
struct Config : Alone<WarpMma, f64, f64, RowMajor, 128, 64> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace doubles_along_n

/// Rows of 16, 8, 4 and 2 bytes, and of one element.
TEST(PackedMma, rows_along_k_begin_anywhere) {
  for (const i64 k : lengths({136, 132, 130, 131, 1})) {
    expect_product<contiguous_along_k::Config>(contiguous_along_k::entry, {70, 67, k}, 1);
  }
}
TEST(PackedMma, rows_along_n_begin_anywhere) {
  for (const i64 n : lengths({72, 68, 66, 71, 1})) {
    for (const i64 k : {136, 71}) expect_product<contiguous_along_n::Config>(contiguous_along_n::entry, {67, n, k}, 2);
  }
}
TEST(PackedMma, tiles_may_be_larger) {
  expect_product<large::Config>(large::entry, {131, 261, 67}, 3);
}
TEST(PackedMma, bytes_begin_anywhere) {
  for (const i64 k : lengths({272, 264, 260, 258, 257, 3})) expect_product<bytes::Config>(bytes::entry, {5, 129, k}, 4);
}
TEST(PackedMma, parts_along_k_are_whole_slices) {
  for (const u32 seed : {1u, 2u}) expect_product<parts::Config>(parts::entry, {64, 130, 461}, seed);
}
TEST(PackedMma, nothing_is_multiplied_where_k_is_0) {
  expect_product<contiguous_along_k::Config>(contiguous_along_k::entry, {3, 5, 0}, 5);
  expect_product<contiguous_along_n::Config>(contiguous_along_n::entry, {5, 3, 0}, 5);
}
/// Copies of 16, 8, 4 and 2 bytes of more slices than there are stages.
TEST(PackedMma, stages_are_filled_again) {
  for (const i64 k : lengths({456, 452, 450, 451})) {
    expect_product<contiguous_along_k::Config>(contiguous_along_k::entry, {3, 5, k}, 8);
    expect_product<contiguous_along_n::Config>(contiguous_along_n::entry, {5, k % 16, k}, 9);
    expect_product<bytes::Config>(bytes::entry, {3, 5, k + 200}, 10);
  }
}
TEST(LargePackedMma, stages_are_filled_again_for_the_next_tile) {
  for (const i64 k : {328, 331})
    expect_product<contiguous_along_k::Config>(contiguous_along_k::entry, {70, 200, k}, 11);
}

/// Nothing makes its threads meet but the barriers between slices.
TEST(StagedMultiplyAdd, stages_are_filled_again_for_the_next_tile) {
  for (const i64 k : lengths({128, 131})) {
    for (const u32 seed : {12u, 13u}) expect_product<singles::Config>(singles::entry, {66, 130, k}, seed);
  }
}

TEST(WarpMma, rows_of_f64_are_of_any_length) {
  for (const i64 k : {34, 37, 0}) expect_product<doubles_along_k::Config>(doubles_along_k::entry, {67, 70, k}, 6);
  for (const i64 n : {66, 71}) expect_product<doubles_along_n::Config>(doubles_along_n::entry, {130, n, 19}, 7);
}
TEST(WarpMma, stages_are_filled_again) {
  for (const i64 k : {132, 133}) {
    expect_product<doubles_along_k::Config>(doubles_along_k::entry, {3, 5, k}, 8);
    expect_product<doubles_along_n::Config>(doubles_along_n::entry, {5, k % 8, k}, 9);
  }
}

}  // namespace
