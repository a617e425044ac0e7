// The main loop of sm_90a as templates use it, on the CPU: its threads are fibers of the seeded engine, and what the
// hardware does stands in emulated/. Products of small integers, whose sums are exact in any order.
#include <gtest/gtest.h>

#include "iris/device/barrier.hpp"
#include "iris/device/main_loop.hpp"
#include "iris/device/main_loop/wgmma.hpp"
#include "iris/device/reduce.hpp"
#include "iris/device/signal.hpp"
#include "iris/device/tile_mailbox.hpp"
#include "tests/device/emulated_products.hpp"
#include "tests/device/wgmma_config.hpp"

// Templates include it once more, to no effect: they take the Config of the namespace that they are in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace {

using namespace iris::device;
using namespace emulated_products;

namespace by_columns {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace by_columns
namespace by_rows {
struct Config : Alone<bf16, bf16, ColumnMajor, 128, 4> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace by_rows
namespace along_n {
struct Config : Alone<f16, f16, RowMajor, 256, 3> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace along_n
namespace no_power_of_two {
struct Config : Alone<f16, f16, ColumnMajor, 160, 4> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace no_power_of_two
namespace few_rows {
struct Config : Alone<bf16, bf16, ColumnMajor, 96, 8, 16> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace few_rows
/// Both warpgroups take stages, of a ring of which each has more in one round than in the next.
namespace stages_in_turn {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 5, 24> {
  static constexpr i32 stage_groups = 2;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace stages_in_turn
/// B comes before the kernel waits for its stream, in whole tiles and in parts of them.
namespace columns_come_early {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4> {
  static constexpr i32 early_stages = 4;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace columns_come_early
namespace columns_of_parts_come_early {
struct Config : Alone<f16, f16, RowMajor, 64, 8, 24, 4> {
  static constexpr i32 early_stages = 8;
};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace columns_of_parts_come_early
namespace low_tiles {
struct Config : Alone<f16, f16, RowMajor, 128, 4, 64> {
  static constexpr i32 tile_m = 64;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace low_tiles
namespace low_tiles_in_turn {
struct Config : Alone<e4m3, bf16, ColumnMajor, 96, 3, 64> {
  static constexpr i32 tile_m = 64;
  static constexpr i32 stage_groups = 2;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace low_tiles_in_turn
namespace bytes {
struct Config : Alone<e4m3, bf16, ColumnMajor, 192, 4> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace bytes
namespace words {
struct Config : Alone<tf32, f32, ColumnMajor, 128, 3> {};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace words
namespace two_parts {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4, 128, 2> {};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace two_parts
namespace three_parts {
struct Config : Alone<f16, f16, RowMajor, 128, 5, 128, 3> {};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace three_parts
namespace parts_of_few_rows {
struct Config : Alone<bf16, bf16, ColumnMajor, 96, 8, 24, 4> {};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace parts_of_few_rows
namespace parts_of_bytes {
struct Config : Alone<e4m3, f16, ColumnMajor, 160, 4, 128, 2> {};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace parts_of_bytes

namespace scattered {
struct Config : Together<3> {};
#include "templates/matmul_reduce_scatter/fused_sequential.hip"
ENTRY
}  // namespace scattered
// In two turns of the blocks, of which each sends a tile, or keeps it, and then makes its last one.
namespace scattered_slowly {
struct Config : Together<2> {
  static constexpr i32 ship_ns = 100'000;
};
#include "templates/matmul_reduce_scatter/fused_sequential.hip"
ENTRY
}  // namespace scattered_slowly
namespace kept {
struct Config : Together<1> {
  static constexpr i32 ship_ns = 100'000;
};
#include "templates/matmul_reduce_scatter/fused_sequential.hip"
ENTRY
}  // namespace kept
namespace summed_by_blocks {
struct Config : Together<2> {};
#include "templates/matmul_reduce_scatter/workgroup_specialized.hip"
ENTRY
}  // namespace summed_by_blocks
namespace reduced {
struct Config : Together<2> {};
#include "templates/matmul_all_reduce/fused_sequential.hip"
ENTRY
}  // namespace reduced
// A tile has rows of all ranks. Blocks make two or one. Lines do not divide its rows.
namespace scattered_in_lines {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4, 24> {
  static constexpr i32 world = 3;
  static constexpr i32 line = 6;
};
#include "templates/matmul_reduce_scatter/low_latency.hip"
ENTRY
}  // namespace scattered_in_lines
namespace reduced_in_lines {
struct Config : Together<2> {
  static constexpr i32 line = 4;
};
#include "templates/matmul_all_reduce/low_latency.hip"
ENTRY
}  // namespace reduced_in_lines
// Of a tile's rows the last rank has fewer.
namespace reduced_in_two_ways {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4, 24> {
  static constexpr i32 world = 3;
  static constexpr i32 line = 6;
};
#include "templates/matmul_all_reduce/low_latency_two_shot.hip"
ENTRY
}  // namespace reduced_in_two_ways
namespace gathered {
struct Config : Together<3> {};
#include "templates/matmul_all_gather/fused_sequential.hip"
ENTRY
}  // namespace gathered

TEST(Wgmma, one_warpgroup_makes_narrow_tiles_transposed) {
  for (const u32 seed : {1u, 2u}) expect_product<by_columns::Config>(by_columns::entry, {170, 136, 136}, seed);
}
TEST(LargeWgmma, one_warpgroup_makes_more_narrow_tiles_transposed) {
  for (const u32 seed : {1u, 2u}) expect_product<by_columns::Config>(by_columns::entry, {300, 136, 200}, seed);
}
TEST(LargeWgmma, two_warpgroups_make_the_rows_of_a_tile) {
  for (const u32 seed : {1u, 2u}) expect_product<by_rows::Config>(by_rows::entry, {140, 264, 328}, seed);
}
TEST(LargeWgmma, operands_along_n_come_in_panels) {
  expect_product<along_n::Config>(along_n::entry, {130, 264, 200}, 3);
}
TEST(LargeWgmma, widths_are_multiples_of_32) {
  expect_product<no_power_of_two::Config>(no_power_of_two::entry, {129, 168, 264}, 4);
}
TEST(Wgmma, a_stage_holds_no_more_rows_than_there_are) {
  for (const i64 rows : {1, 13}) expect_product<few_rows::Config>(few_rows::entry, {rows, 200, 648}, 5);
}
TEST(LargeWgmma, a_stage_is_full_of_the_rows_that_there_are) {
  expect_product<few_rows::Config>(few_rows::entry, {16, 200, 648}, 5);
}
TEST(Wgmma, warpgroups_take_stages_in_turn) {
  for (const i64 depth : {328, 648}) {  // as many of each tile, and one more or less
    for (const u32 seed : {1u, 2u})
      expect_product<stages_in_turn::Config>(stages_in_turn::entry, {20, 300, depth}, seed);
  }
}
TEST(Wgmma, a_warpgroup_without_a_stage_waits_for_its_turn) {
  for (const u32 seed : {1u, 2u}) expect_product<stages_in_turn::Config>(stages_in_turn::entry, {9, 1500, 40}, seed);
}
TEST(Wgmma, tiles_have_no_more_rows_than_a_warpgroup) {
  expect_product<low_tiles::Config>(low_tiles::entry, {150, 136, 200}, 14);
}
TEST(Wgmma, such_tiles_are_made_by_two_in_turn) {
  expect_product<low_tiles_in_turn::Config>(low_tiles_in_turn::entry, {130, 200, 656}, 15);
}
/// Rows of results that begin anywhere: in tiles that warps ship, and in the last, which those send that made it.
TEST(Wgmma, rows_of_results_begin_anywhere) {
  for (const i64 columns : lengths({261, 5})) {
    expect_product<by_rows::Config>(by_rows::entry, {300, columns, 40}, 16);
    expect_product<low_tiles_in_turn::Config>(low_tiles_in_turn::entry, {130, columns, 144}, 17);
  }
  expect_product<by_columns::Config>(by_columns::entry, {270, 131, 40}, 18);
  expect_product<words::Config>(words::entry, {260, 303, 36}, 19);
  expect_product<parts_of_bytes::Config>(parts_of_bytes::entry, {130, 323, 272}, 20);
  expect_product<gathered::Config>(gathered::entry, {3 * 139, 261, 72}, 21, Pattern::gathers_products);
}
/// Boxes of a matrix of so many rows are asked for by threads that have waited for their stream, others before that.
template <typename Config>
void expect_early_columns(void (*entry)(void* const*), const Extents& extents) {
  platform::emulated::Stream& stream = platform::emulated::stream();
  stream = {.awaited_rows = static_cast<u64>(extents.m)};
  expect_product<Config>(entry, extents, 16);
  EXPECT_FALSE(stream.is_read_early);
  EXPECT_GT(stream.early_boxes, 0);
  EXPECT_LE(stream.early_boxes, Config::blocks * Config::early_stages);
  // Of the first warp one thread alone has something to wait for.
  EXPECT_EQ(stream.waited.size(), static_cast<std::size_t>(Config::blocks) * (Config::threads - 31));
}
TEST(Wgmma, columns_come_before_the_stream_has_ended) {
  for (const i64 depth : {72, 520}) {  // fewer stages than there are, and more
    expect_early_columns<columns_come_early::Config>(columns_come_early::entry, {140, 264, depth});
  }
}
TEST(Wgmma, columns_of_parts_come_before_the_stream_has_ended) {
  using Config = columns_of_parts_come_early::Config;
  expect_early_columns<Config>(columns_of_parts_come_early::entry, {20, 50, 1288});
}
TEST(LargeWgmma, sums_of_bytes_are_added_up_stage_by_stage) {
  expect_product<bytes::Config>(bytes::entry, {130, 200, 400}, 6);
}
TEST(Wgmma, words_are_a_stage_of_32) {
  expect_product<words::Config>(words::entry, {130, 132, 100}, 7);
}
TEST(Wgmma, blocks_add_up_the_parts_of_a_tile) {
  for (const u32 seed : {1u, 2u}) expect_product<two_parts::Config>(two_parts::entry, {200, 64, 392}, seed);
}
TEST(LargeWgmma, whole_tiles_come_before_parts) {
  expect_product<three_parts::Config>(three_parts::entry, {256, 264, 328}, 9);
}
TEST(Wgmma, few_rows_come_in_parts) {
  expect_product<parts_of_few_rows::Config>(parts_of_few_rows::entry, {20, 90, 1288}, 10);
}
TEST(Wgmma, copies_hold_no_more_rows_than_there_are) {
  expect_product<by_columns::Config>(by_columns::entry, {20, 90, 200}, 12);
}
TEST(LargeWgmma, bytes_come_in_parts) {
  expect_product<parts_of_bytes::Config>(parts_of_bytes::entry, {256, 100, 400}, 11);
}

TEST(LargeWgmma, finished_tiles_are_sent_and_summed) {
  expect_product<scattered::Config>(scattered::entry, {3 * 130, 136, 72}, 1, Pattern::scatters_sums);
}
TEST(LargeWgmma, finished_tiles_leave_as_slowly_as_asked_but_for_the_last) {
  const u64 begin = platform::nanoseconds();
  expect_product<scattered_slowly::Config>(scattered_slowly::entry, {2 * 256, 136, 72}, 2, Pattern::scatters_sums);
  const u64 passed = platform::nanoseconds() - begin;
  constexpr i64 of_launches = 2 * scattered_slowly::Config::ship_ns;
  EXPECT_GE(passed, of_launches * 15 / 16);  // with its last piece, of 8 rows, a tile has left
  EXPECT_LT(passed, of_launches * 3 / 2);
}
TEST(LargeWgmma, tiles_that_stay_do_so_at_once) {
  const u64 begin = platform::nanoseconds();
  expect_product<kept::Config>(kept::entry, {260, 264, 72}, 3, Pattern::scatters_sums);
  EXPECT_LT(platform::nanoseconds() - begin, kept::Config::ship_ns / 10);
}
TEST(LargeWgmma, blocks_of_their_own_sum_finished_tiles) {
  expect_product<summed_by_blocks::Config>(summed_by_blocks::entry, {2 * 130, 200, 72}, 4, Pattern::scatters_sums);
}
TEST(LargeWgmma, sums_are_sent_to_all) {
  expect_product<reduced::Config>(reduced::entry, {200, 264, 72}, 5, Pattern::sums);
}
TEST(Wgmma, rows_of_a_tile_are_sent_to_their_ranks_in_lines) {
  for (const i64 columns : lengths({330, 333}))
    expect_product<scattered_in_lines::Config>(scattered_in_lines::entry, {3 * 7, columns, 72}, 7,
                                               Pattern::scatters_sums);
}
TEST(LargeWgmma, tiles_are_sent_to_all_in_lines) {
  expect_product<reduced_in_lines::Config>(reduced_in_lines::entry, {140, 330, 72}, 8, Pattern::sums);
}
TEST(Wgmma, sums_of_a_share_of_a_tile_are_sent_to_all_in_lines) {
  for (const i64 columns : lengths({330, 333}))
    expect_product<reduced_in_two_ways::Config>(reduced_in_two_ways::entry, {20, columns, 72}, 9, Pattern::sums);
}
TEST(LargeWgmma, finished_tiles_are_sent_to_all) {
  expect_product<gathered::Config>(gathered::entry, {3 * 140, 264, 72}, 6, Pattern::gathers_products);
}

}  // namespace
