#include "iris/device/main_loop/wgmma_layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace iris::device::wgmma_layout_test {
namespace {

template <i32 blocks_, i32 rows_of_stage = 128, i32 rows_of_box = rows_of_stage, i32 band = 2>
struct Config {
  using Element = f16;
  static constexpr i32 blocks = blocks_;
  static constexpr i32 tile_m = 128;
  static constexpr i32 tile_k = 64;
  static constexpr i32 tile_band = band;
  static constexpr i32 stage_rows = rows_of_stage;
  static constexpr i32 box_rows = rows_of_box;
};

/// A row of a stage, in groups of eight: chunk, stage of the chunk, first row of the group.
using Rows = std::tuple<i32, i32, i32>;

/// What there is to send, each once.
template <typename C>
std::multiset<Rows> all_rows(const GatheredStages<C>& gathered) {
  std::multiset<Rows> all;
  for (i32 chunk = 0; chunk < gathered.chunks(); ++chunk) {
    for (i32 stage = 0; stage < gathered.stages_of_chunk(); ++stage) {
      for (i32 row = 0; row < rows_of_tile<C>(gathered.rows, i64{chunk} * C::tile_m); row += 8) {
        all.insert({chunk, stage, row});
      }
    }
  }
  return all;
}

/// The number of the slice that has the stage of the chunk.
template <typename C>
i64 slice_of(const GatheredStages<C>& gathered, i32 chunk, i32 stage) {
  i32 slice = 0;
  while (stages_of_slice<C>(gathered.k, slice, stage_slices).end <= stage) ++slice;
  return SliceOrder<C>{gathered.chunks(), stage_slices}.number({chunk, slice});
}

TEST(SliceOrder, TakesAllChunksOfABandSliceBySlice) {
  using Slice = std::pair<i64, i32>;
  const std::vector<Slice> expected = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}, {4, 0}, {3, 1}, {4, 1}};
  const SliceOrder<Config<1, 128, 128, 3>> order = {.chunks = 5, .slices = 2};
  for (i64 number = 0; number < 10; ++number) {
    const auto slice = order.at(number);
    EXPECT_EQ(Slice(slice.chunk, slice.slice), expected[static_cast<std::size_t>(number)]);
    EXPECT_EQ(order.number(slice), number);
  }
}

/// All blocks' walks, one after another. When a block tells of its slice number j, it has sent its part of that one.
template <typename C>
void expect_pieces_sent_once(i64 rows, i64 k) {
  SCOPED_TRACE(testing::Message() << rows << " rows, k = " << k << ", " << C::blocks << " blocks");
  const GatheredStages<C> gathered = {nullptr, rows, k};
  std::multiset<Rows> sent;
  std::map<i32, u32> told;  // by each block
  for (i32 block = 0; block < C::blocks; ++block) {
    i32 pieces = 0;
    for (PieceWalk<C> walk(gathered, block); !walk.ended(); walk.advance(), ++pieces) {
      EXPECT_EQ(walk.slot, pieces % 2);
      EXPECT_EQ(walk.parity, static_cast<u32>(pieces / 2 % 2));
      EXPECT_EQ(walk.number(), walk.chunk * gathered.stages_of_chunk() + walk.stage);
      EXPECT_GT(walk.rows_of_piece(), 0);
      EXPECT_LE(walk.row + walk.rows_of_piece(), C::stage_rows);
      for (i32 row = 0; row < walk.rows_of_piece(); row += 8) {
        sent.insert({walk.chunk, walk.stage, walk.row + row});
      }
      const i64 slice = slice_of(gathered, walk.chunk, walk.stage);
      const Senders senders = SlicesOfBlocks<C>::senders_of(slice);
      EXPECT_GE(block, senders.first);
      EXPECT_LT(block, senders.first + senders.count);
      EXPECT_EQ(walk.passed(), senders.before) << "of slice " << slice << " by block " << block;
    }
    PieceWalk<C> end(gathered, block);
    while (!end.ended()) end.advance();
    told[block] = end.passed();
  }
  EXPECT_EQ(sent, all_rows(gathered));
  // Whoever waits for a slice waits for what its senders tell in the end.
  for (i64 slice = 0; slice < gathered.chunks() * stage_slices; ++slice) {
    const Senders senders = SlicesOfBlocks<C>::senders_of(slice);
    for (i64 i = 0; i < senders.count; ++i) EXPECT_GT(told[static_cast<i32>(senders.first + i)], senders.before);
  }
}

template <typename C>
void expect_pieces_sent_once() {
  for (const i64 rows : {0, 1, 8, 40, 127, 128, 129, 300, 1000}) {
    if (rows > C::stage_rows && C::stage_rows < C::tile_m) continue;
    for (const i64 k : {8, 64, 72, 200, 256, 1032, 2048}) expect_pieces_sent_once<C>(rows, k);
  }
}

TEST(PieceWalk, SendsEachPieceOnceAndTellsOfItsSlice) {
  expect_pieces_sent_once<Config<1, 128, 64>>();
  expect_pieces_sent_once<Config<3, 128, 64>>();
  expect_pieces_sent_once<Config<16, 128, 64>>();
  expect_pieces_sent_once<Config<33, 128, 64>>();
  expect_pieces_sent_once<Config<132, 128, 64>>();
  expect_pieces_sent_once<Config<33, 128, 64, 1>>();
  expect_pieces_sent_once<Config<33, 128, 64, 8>>();
  expect_pieces_sent_once<Config<132, 40>>();
  expect_pieces_sent_once<Config<20, 8>>();
}

/// What blocks of their own send: of all stages, in the order of their slices, each every so many, in a ring of three
/// slots.
template <typename C>
void expect_stages_sent_once() {
  for (const i64 rows : {0, 1, 128, 300, 1000}) {
    for (const i64 k : {0, 8, 72, 200, 256, 1032, 2048}) {
      for (const i32 blocks : {1, 3, 8, 16}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, k = " << k << ", " << blocks << " blocks");
        const GatheredStages<C> gathered = {nullptr, rows, k};
        std::set<i64> sent;
        std::map<i32, i32> count;  // of each block's stages
        for (i32 block = 0; block < blocks; ++block) {
          StageWalk<C, 3> walk(gathered, block, blocks);
          for (; !walk.ended(); walk.advance(), ++count[block]) {
            EXPECT_EQ(walk.slot, count[block] % 3);
            EXPECT_EQ(walk.parity, static_cast<u32>(count[block] / 3 % 2));
            EXPECT_EQ(walk.number(), walk.chunk * gathered.stages_of_chunk() + walk.stage);
            EXPECT_TRUE(sent.insert(walk.number()).second) << "sent twice";
            EXPECT_EQ(walk.passed, slice_of(gathered, walk.chunk, walk.stage)) << "all before it have been passed";
            const SliceOrder<C> order = {gathered.chunks(), stage_slices};
            const i64 first_of_band = walk.chunk / C::tile_band * C::tile_band;
            EXPECT_EQ(walk.whole, order.number({first_of_band, order.at(walk.passed).slice}));
          }
          EXPECT_EQ(walk.passed, walk.slices());
        }
        EXPECT_EQ(sent.size(), static_cast<std::size_t>(gathered.chunks() * gathered.stages_of_chunk()));
        for (i32 block = 1; block < blocks; ++block) {
          EXPECT_LE(count[block], count[block - 1]);
          EXPECT_LE(count[0], count[block] + 1) << "some send more than others";
        }
      }
    }
  }
}

TEST(StageWalk, SendsEachStageOnceInSlices) {
  expect_stages_sent_once<Config<132, 128, 128, 1>>();
  expect_stages_sent_once<Config<132, 128, 128, 2>>();
  expect_stages_sent_once<Config<132, 128, 128, 8>>();
}

}  // namespace
}  // namespace iris::device::wgmma_layout_test
