#include "iris/device/partition.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::partition_test {
namespace {

TEST(ShardOf, CoversEverythingOnceInOrderOnMultiples) {
  for (const i64 count : {0, 1, 3, 4, 17, 64, 1000, 85002}) {
    for (const i32 shards : {1, 2, 3, 5, 8, 13}) {
      for (const i64 multiple : {1, 2, 4, 8}) {
        i64 end = 0;
        for (i32 shard = 0; shard < shards; ++shard) {
          const Range range = shard_of(count, shards, shard, multiple);
          EXPECT_EQ(range.begin, end);
          EXPECT_LE(range.begin, range.end);
          EXPECT_TRUE(range.begin % multiple == 0 || range.begin == count);
          EXPECT_LE(range.end - range.begin, shard_of(count, shards, 0, multiple).end);
          end = range.end;
        }
        EXPECT_EQ(end, count);
      }
    }
  }
}

TEST(ChunkOf, CutsARangeAndIsEmptyBeyondIt) {
  const Range range = {8, 30};
  EXPECT_EQ(chunk_of(range, 0, 16).begin, 8);
  EXPECT_EQ(chunk_of(range, 0, 16).end, 24);
  EXPECT_EQ(chunk_of(range, 1, 16).begin, 24);
  EXPECT_EQ(chunk_of(range, 1, 16).end, 30);
  EXPECT_EQ(chunk_of(range, 2, 16).begin, 30);
  EXPECT_EQ(chunk_of(range, 2, 16).end, 30);
}

TEST(ChunkOf, IsTheSameWhoeverKnowsHowManyThereAre) {
  for (const i64 length : {0, 1, 15, 16, 22, 32, 48}) {
    const Range range = {8, 8 + length};
    for (i64 chunks = length == 0 ? 1 : divide_up(length, 16); chunks < 5; ++chunks) {
      for (i64 index = 0; index < chunks; ++index) {
        const Range chunk = chunk_of(range, index, 16, chunks);
        EXPECT_EQ(chunk.begin, chunk_of(range, index, 16).begin) << length << ": " << index << " of " << chunks;
        EXPECT_EQ(chunk.end, chunk_of(range, index, 16).end) << length << ": " << index << " of " << chunks;
      }
    }
  }
}

TEST(Round, GoesUp) {
  EXPECT_EQ(divide_up(0, 4), 0);
  EXPECT_EQ(divide_up(1, 4), 1);
  EXPECT_EQ(divide_up(8, 4), 2);
  EXPECT_EQ(round_up(9, 4), 12);
}

/// How often each of [0, limit) is visited by a group of `size`, and that packs begin on multiples of `vector`.
template <int vector, int unroll>
std::vector<int> visits(Range range, i64 size, i64 limit) {
  std::vector<int> seen(static_cast<std::size_t>(limit));
  for (i64 index = 0; index < size; ++index) {
    for_each_pack<vector, unroll>({index, size}, range, [&](const auto& at) {
      for (int pack = 0; pack < at.count; ++pack) {
        EXPECT_EQ(at[pack] % at.width, 0);
        for (int lane = 0; lane < at.width; ++lane) ++seen.at(static_cast<std::size_t>(at[pack] + lane));
      }
    });
  }
  return seen;
}

template <int vector, int unroll>
void expect_each_once(i64 begin) {
  for (const i64 length : {0, 1, 3, 4, 5, 31, 32, 100, 257}) {
    for (const i64 size : {1, 3, 8}) {
      const i64 limit = begin + length + 8;
      const std::vector<int> seen = visits<vector, unroll>({begin, begin + length}, size, limit);
      for (i64 i = 0; i < limit; ++i) {
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], i >= begin && i < begin + length) << i << " of " << length;
      }
    }
  }
}

TEST(ForEachPack, VisitsEachElementOnce) {
  expect_each_once<1, 1>(0);
  expect_each_once<1, 4>(5);
  expect_each_once<4, 1>(0);
  expect_each_once<4, 2>(8);
  expect_each_once<8, 4>(16);
}

struct Config {
  static constexpr i32 blocks = 3;
  static constexpr i32 threads = 4;
};

TEST(ThreadGroup, NumbersTheThreadsOfAGridAndOfABlock) {
  FakeEngine engine;
  engine.run(2, 1, [] {
    EXPECT_EQ(grid_threads<Config>().index, 9);
    EXPECT_EQ(grid_threads<Config>().size, 12);
    EXPECT_EQ(block_threads<Config>().index, 1);
    EXPECT_EQ(block_threads<Config>().size, 4);
  });
}

/// Rows of another stride, so that what lies between them would be seen.
template <int vector, int unroll>
void expect_each_once_in_rows(i64 rows, i64 columns, i64 size) {
  const i64 stride = columns + vector;
  std::vector<int> seen(static_cast<std::size_t>(rows * stride));
  for (i64 index = 0; index < size; ++index) {
    for_each_pack_of_rows<vector, unroll>({index, size}, rows, columns, [&](const auto& packs) {
      const auto places = packs.in(stride);
      for (int pack = 0; pack < places.count; ++pack) {
        for (int lane = 0; lane < places.width; ++lane) ++seen.at(static_cast<std::size_t>(places[pack] + lane));
      }
    });
  }
  for (i64 i = 0; i < rows * stride; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i % stride < columns) << rows << " x " << columns << ", " << size;
  }
}

TEST(ForEachPackOfRows, VisitsEachElementOnce) {
  for (const i64 rows : {0, 1, 2, 7}) {
    for (const i64 columns : {0, 4, 12, 32, 36, 40}) {
      for (const i64 size : {1, 3, 8, 64}) {
        expect_each_once_in_rows<4, 1>(rows, columns, size);
        expect_each_once_in_rows<4, 3>(rows, columns, size);
        expect_each_once_in_rows<1, 4>(rows, columns, size);
      }
    }
  }
}

TEST(PackIndex, MovesAllPacks) {
  const PackIndex<4, 2> index = {8, 32};
  EXPECT_EQ(index.behind(100)[0], 108);
  EXPECT_EQ(index.behind(100)[1], 140);
}

}  // namespace
}  // namespace iris::device::partition_test
