// Rows of A that come while the main loop of sm_90a multiplies, from other ranks or not at all: on the CPU, as in
// wgmma_test.cpp.
#include <gtest/gtest.h>

#include "iris/device/barrier.hpp"
#include "iris/device/main_loop.hpp"
#include "iris/device/main_loop/wgmma.hpp"
#include "iris/device/reduce.hpp"
#include "iris/device/signal.hpp"
#include "tests/device/emulated_products.hpp"
#include "tests/device/wgmma_config.hpp"

// Templates include it once more, to no effect: they take the Config of the namespace that they are in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace {

using namespace iris::device;
using namespace emulated_products;

namespace rows_sent_beside {
struct Config : Together<3, 64> {};
#include "templates/all_gather_matmul/fused_sequential.hip"
ENTRY
}  // namespace rows_sent_beside
namespace rows_sent_by_blocks {
struct Config : Together<2> {
  static constexpr i32 comm_blocks = 1;  // the last of the others multiplies rows of other ranks at once
};
#include "templates/all_gather_matmul/workgroup_specialized.hip"
ENTRY
}  // namespace rows_sent_by_blocks
/// Tiles have rows of several ranks, whose B comes before them.
namespace rows_together {
struct Config : Together<3> {
  static constexpr i32 comm_blocks = 3;  // of which one has nothing to send
  static constexpr i32 early_stages = 4;
};
#include "templates/all_gather_matmul/rows_together.hip"
ENTRY
}  // namespace rows_together
namespace words_together {
struct Config : Alone<tf32, f32, ColumnMajor, 64, 4, 40> {
  static constexpr i32 world = 2;
  static constexpr i32 early_stages = 4;
};
#include "templates/all_gather_matmul/rows_together.hip"
ENTRY
}  // namespace words_together
/// A product of which the operands of a tile do not come in time.
namespace rows_that_do_not_come {
struct Config : Alone<bf16, bf16, ColumnMajor, 128, 4> {};
inline i64 missing_tile;
inline i32 missing_slice;
inline bool is_done[Config::blocks][Config::threads];  // as each thread is told

template <typename Config>
struct Tiles : TileSequence {
  static constexpr i32 slices = 3;
  Operand<Config> a;
  Operand<Config> b;
  Output<Config> output;
  Matrix<typename Config::Result> matrix;

  struct Tile {
    i64 number;
    TileOrigin origin;
  };
  i64 count() const { return tiles_of<Config>(matrix.rows, matrix.columns); }
  Tile at(i64 number) const { return {number, tile_at<Config>(number, matrix.rows, matrix.columns)}; }
  bool wait(const Tile& tile, i32 slice, ThreadGroup group) const {
    return group.index != 5 || tile.number != missing_tile || slice != missing_slice;
  }
  TileProduct<Operand<Config>> product(const Tile& tile) const { return {a, b, tile.origin}; }
  TilePlace<Config> place(const Tile& tile) const { return {matrix, tile.origin, output}; }
};

template <typename Config>
void multiply(const typename Config::Element* a, const typename Config::Element* b, const Output<Config>& output,
              const OperandMaps<Config>& maps, i64 m, i64 n, i64 k) {
  Tiles<Config> tiles;
  tiles.a = operand_a<Config>(maps.a, a, m, k);
  tiles.b = operand_b<Config>(maps, b, k, n);
  tiles.output = output;
  tiles.matrix = dense(output.data, m, n);
  is_done[block_index()][thread_index()] = multiply_tiles<Config>(tiles, block_index(), Config::blocks);
}
void kernel(const Context& /*context*/, const Config::Element* a, const Config::Element* b,
            const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n, i64 k) {
  multiply<Config>(a, b, output, maps, m, n, k);
}
ENTRY
}  // namespace rows_that_do_not_come
namespace rows_that_do_not_come_behind_columns {
struct Config : rows_that_do_not_come::Config {
  static constexpr i32 early_stages = 4;
};
void kernel(const Context& /*context*/, const Config::Element* a, const Config::Element* b,
            const Output<Config>& output, const OperandMaps<Config>& maps, i64 m, i64 n, i64 k) {
  rows_that_do_not_come::multiply<Config>(a, b, output, maps, m, n, k);
}
ENTRY
}  // namespace rows_that_do_not_come_behind_columns

TEST(LargeWgmma, rows_of_other_ranks_come_beside_products) {
  expect_product<rows_sent_beside::Config>(rows_sent_beside::entry, {3 * 140, 72, 264}, 2, Pattern::gathers_rows);
}
TEST(LargeWgmma, rows_of_other_ranks_come_from_blocks_of_their_own) {
  expect_product<rows_sent_by_blocks::Config>(rows_sent_by_blocks::entry, {2 * 260, 40, 328}, 3, Pattern::gathers_rows);
}
TEST(LargeWgmma, rows_of_all_ranks_are_multiplied_together) {
  platform::emulated::Stream& stream = platform::emulated::stream();
  for (const i64 depth : {72, 1000}) {  // fewer stages than slices, and more
    const i64 rows = 3 * 50;            // a tile ends among the third rank's
    stream = {.awaited_rows = rows};
    expect_product<rows_together::Config>(rows_together::entry, {rows, 136, depth}, 17, Pattern::gathers_rows);
    EXPECT_GT(stream.early_boxes, 0);
    EXPECT_FALSE(stream.is_read_early);
  }
}
TEST(Wgmma, words_are_rounded_on_their_way) {
  expect_product<words_together::Config>(words_together::entry, {2 * 18, 80, 100}, 18, Pattern::gathers_rows);
}
// The block makes all tiles before, and all of its threads are told; the others make theirs.
template <typename Config>
void expect_to_give_up(void (*entry)(void* const*), i64 tile, i32 slice) {
  using namespace rows_that_do_not_come;
  SCOPED_TRACE(testing::Message() << "slice " << slice << " of tile " << tile);
  const Extents extents = {260, 136, 200};  // six tiles, for four blocks
  missing_tile = tile;
  missing_slice = slice;
  expect_product<Config>(entry, extents, 13, Pattern::alone, [&](i64 row, i64 column) {
    i64 number = 0;
    for (TileOrigin origin = {-1, -1}; origin.row != row / 128 * 128 || origin.column != column / 128 * 128; ++number)
      origin = tile_at<Config>(number, extents.m, extents.n);
    --number;
    return number % Config::blocks != tile % Config::blocks || number < tile;
  });
  for (i64 block = 0; block < Config::blocks; ++block) {
    for (const bool done : is_done[block]) EXPECT_EQ(done, block != tile % Config::blocks) << "block " << block;
  }
}
constexpr std::pair<i64, i32> missing[] = {{0, 0}, {1, 1}, {4, 0}, {5, 2}};  // tiles and slices
TEST(LargeWgmma, a_block_gives_up_where_rows_do_not_come) {
  using namespace rows_that_do_not_come;
  for (const auto& [tile, slice] : missing) expect_to_give_up<Config>(entry, tile, slice);
}
TEST(LargeWgmma, columns_do_not_wait_for_rows_that_do_not_come) {
  using namespace rows_that_do_not_come_behind_columns;
  platform::emulated::Stream& stream = platform::emulated::stream();
  for (const auto& [tile, slice] : missing) {
    stream = {};
    expect_to_give_up<Config>(entry, tile, slice);
    EXPECT_EQ(stream.early_boxes, Config::blocks * Config::early_stages);  // of the first launch
  }
}

}  // namespace
