#include "iris/device/main_loop/mfma_layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace iris::device::mfma_layout_test {
namespace {

using Layout = WaveLayout;

/// Whether the threads of a wave, which access `bytes` each at these addresses, as many at a time as 128 bytes serve,
/// come to different banks; or as many of them as `sharing` to one.
bool in_different_banks(const std::vector<int>& addresses, int bytes, std::size_t sharing = 1) {
  const std::size_t together = 128 / static_cast<std::size_t>(bytes);
  for (std::size_t first = 0; first < addresses.size(); first += together) {
    std::set<int> banks;
    for (std::size_t i = first; i < first + together; ++i) banks.insert(addresses[i] % 128 / bytes);
    if (banks.size() * sharing < together) return false;
  }
  return true;
}

template <int count>
void expect_places_of_rows() {
  std::set<int> places;
  for (int row = 0; row < count; ++row) {
    for (int chunk = 0; chunk < Layout::chunks; ++chunk) places.insert(Layout::place_of<count>(row, chunk));
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(count * Layout::chunks));
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin(), count * Layout::chunks - 1);
}

TEST(WaveLayout, HasOnePlaceForEachRowAndChunk) {
  expect_places_of_rows<64>();
  expect_places_of_rows<128>();
  expect_places_of_rows<256>();
}

TEST(WaveLayout, GivesALaneEightNeighbouringColumnsOfTwoProducts) {
  for (int column = 0; column < 128; ++column) {
    const int place = Layout::column_place(column);
    const int product = place / 16;
    const int lane_group = place % 16 / 4;  // which gets sums 4·lane_group to 4·lane_group + 3
    EXPECT_EQ(product / 2 * 32 + lane_group * 8 + product % 2 * 4 + place % 4, column);
  }
}

/// Of sums of 8 bytes a lane group gets rows lane_group, lane_group + 4, … of a product.
TEST(WaveLayout, GivesALaneEightNeighbouringColumnsOfSumsInF64) {
  for (int column = 0; column < 128; ++column) {
    const int place = Layout::column_place<8>(column);
    const int product = place / 16;
    const int lane_group = place % 4;
    const int sum = place % 16 / 4;
    EXPECT_EQ(product / 2 * 32 + lane_group * 8 + product % 2 * 4 + sum, column);
  }
}

template <int bytes, int tile_n>
void expect_squares(std::size_t sharing) {
  constexpr int width = Layout::width_of<bytes>;
  constexpr int across = tile_n / width;
  std::set<int> columns;
  for (int number = 0; number < across; ++number) columns.insert(Layout::square_column<bytes>(number));
  EXPECT_EQ(columns.size(), static_cast<std::size_t>(across));
  EXPECT_EQ(*columns.rbegin(), tile_n - width);
  for (int element = 0; element < width; ++element) {
    std::vector<int> addresses;
    for (int thread = 0; thread < Layout::wave_threads; ++thread) {
      const int column = Layout::square_column<bytes>(thread % across) + element;
      addresses.push_back(16 * Layout::place_of<tile_n>(Layout::column_place<bytes>(column), thread / across));
    }
    EXPECT_TRUE(in_different_banks(addresses, 16, sharing)) << bytes << " bytes, element " << element;
  }
}

TEST(WaveLayout, WritesSquaresOfBToDifferentBanks) {
  expect_squares<4, 64>(1);
  expect_squares<4, 128>(1);
  expect_squares<8, 64>(2);
  expect_squares<8, 128>(2);
}

template <int tile_n>
void expect_blocks_cover_a_slice() {
  std::set<std::pair<int, int>> elements;
  constexpr int threads = Layout::depth * tile_n / (Layout::block_rows * Layout::width);
  for (int thread = 0; thread < threads; ++thread) {
    for (int row = 0; row < Layout::block_rows; ++row) {
      for (int column = 0; column < Layout::width; ++column) {
        elements.emplace(Layout::block_row<tile_n>(thread) + row, Layout::block_column<tile_n>(thread) + column);
      }
    }
  }
  EXPECT_EQ(elements.size(), static_cast<std::size_t>(Layout::depth * tile_n));
  EXPECT_EQ(*elements.rbegin(), std::pair(Layout::depth - 1, tile_n - 1));
}

TEST(WaveLayout, CoversASliceOfBWithBlocks) {
  expect_blocks_cover_a_slice<64>();
  expect_blocks_cover_a_slice<128>();
}

template <int count>
void expect_reads_in_different_banks() {
  for (int first = 0; first < count; first += Layout::side) {
    std::vector<int> addresses;
    for (int lane = 0; lane < Layout::wave_threads; ++lane) {
      addresses.push_back(16 * Layout::place_of<count>(first + lane % Layout::side, lane / Layout::side));
    }
    EXPECT_TRUE(in_different_banks(addresses, 16)) << first << " of " << count;
  }
}

TEST(WaveLayout, IsReadFromDifferentBanks) {
  expect_reads_in_different_banks<64>();
  expect_reads_in_different_banks<128>();
  expect_reads_in_different_banks<256>();
}

TEST(WaveLayout, IsWrittenToDifferentBanksByPacksOfA) {
  for (int first = 0; first < 256 * Layout::chunks; first += Layout::wave_threads) {
    std::vector<int> addresses;
    for (int pack = first; pack < first + Layout::wave_threads; ++pack) {
      addresses.push_back(16 * Layout::place_of<256>(pack / Layout::chunks, pack % Layout::chunks));
    }
    EXPECT_TRUE(in_different_banks(addresses, 16)) << first;
  }
}

TEST(WaveLayout, IsWrittenToDifferentBanksByPacksOfBAlongK) {
  for (int first = 0; first < 128 * Layout::chunks; first += Layout::wave_threads) {
    std::vector<int> addresses;
    for (int pack = first; pack < first + Layout::wave_threads; ++pack) {
      const int column = Layout::column_place(pack / Layout::chunks);
      addresses.push_back(16 * Layout::place_of<128>(column, pack % Layout::chunks));
    }
    EXPECT_TRUE(in_different_banks(addresses, 16)) << first;
  }
}

template <int tile_n>
void expect_blocks_written_to_different_banks() {
  for (int first = 0; first < tile_n; first += Layout::wave_threads) {
    for (int column = 0; column < Layout::width; ++column) {
      std::vector<int> addresses;
      for (int thread = first; thread < first + Layout::wave_threads; ++thread) {
        const int row = Layout::block_row<tile_n>(thread);
        const int place = Layout::place_of<tile_n>(Layout::column_place(Layout::block_column<tile_n>(thread) + column),
                                                   row / Layout::width);
        addresses.push_back(16 * place + row % Layout::width * 2);
      }
      EXPECT_TRUE(in_different_banks(addresses, 8)) << first << ", column " << column << " of " << tile_n;
    }
  }
}

TEST(WaveLayout, IsWrittenToDifferentBanksByTransposedBlocksOfB) {
  expect_blocks_written_to_different_banks<64>();
  expect_blocks_written_to_different_banks<128>();
}

}  // namespace
}  // namespace iris::device::mfma_layout_test
