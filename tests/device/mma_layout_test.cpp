#include "iris/device/main_loop/mma_layout.hpp"
#include "iris/device/main_loop/mma_packed_layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace iris::device::mma_layout_test {
namespace {

using Layout = WarpLayout;

/// Bytes that come at the same time from or to 32 banks of 4 bytes.
bool in_different_banks(const std::vector<int>& elements, int bytes) {
  const std::size_t at_once = 128 / static_cast<std::size_t>(bytes);
  for (std::size_t begin = 0; begin < elements.size(); begin += at_once) {
    std::set<int> banks;
    for (std::size_t i = begin; i < begin + at_once; ++i) banks.insert(elements[i] * 8 % 128 / bytes);
    if (banks.size() != at_once) return false;
  }
  return true;
}

constexpr int tile = 64;

static_assert(Layout::row % 2 == 0 && Layout::row_of_b<tile> % 2 == 0, "copies are of 16 bytes");

TEST(WarpLayout, IsReadFromDifferentBanks) {
  std::vector<int> along_k;
  std::vector<int> along_n;
  for (int lane = 0; lane < 32; ++lane) {
    const int line = lane / 4;
    const int k = lane % Layout::product_depth;
    along_k.push_back(line * Layout::row + k);
    along_n.push_back(k * Layout::row_of_b<tile> + line);
  }
  EXPECT_TRUE(in_different_banks(along_k, 8));
  EXPECT_TRUE(in_different_banks(along_n, 8));
}

/// Eight lanes name places that are read at once.
bool are_in_different_banks(const std::vector<int>& first_bytes) {
  for (std::size_t begin = 0; begin < first_bytes.size(); begin += 8) {
    std::set<int> banks;
    for (std::size_t i = begin; i < begin + 8; ++i) banks.insert(first_bytes[i] % 128);
    if (banks.size() != 8) return false;
  }
  return true;
}

TEST(PackedLayout, HasAPlaceOfItsOwnForEachPieceOfARow) {
  constexpr int rows = 64;
  for (const int bytes : {128, 256}) {
    std::set<int> all;
    const int places = bytes / PackedLayout::place_bytes;
    for (int row = 0; row < rows; ++row) {
      for (int number = 0; number < places; ++number) {
        all.insert(bytes == 128 ? PackedLayout::place(row, number) : PackedLayout::place<256>(row, number));
      }
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(rows * places));
    EXPECT_EQ(*all.begin(), 0);
    EXPECT_LE(*all.rbegin() + PackedLayout::place_bytes, rows * PackedLayout::stride(bytes));
  }
}

TEST(PackedLayout, IsReadFromDifferentBanks) {
  for (int product = 0; product < PackedLayout::products; ++product) {
    for (int first = 0; first < 64; first += 16) {
      std::vector<int> of_a;
      std::vector<int> of_b;
      std::vector<int> of_row_major_b;
      for (int lane = 0; lane < 32; ++lane) {
        const PackedLayout::Place a = PackedLayout::of_a(lane, product);
        const PackedLayout::Place b = PackedLayout::of_b(lane, product);
        const PackedLayout::Place across = PackedLayout::of_row_major_b(lane, product);
        of_a.push_back(PackedLayout::place(first + a.row, a.number));
        of_b.push_back(PackedLayout::place(first + b.row, b.number));
        of_row_major_b.push_back(PackedLayout::place<256>(across.row, first / 8 + across.number));
      }
      EXPECT_TRUE(are_in_different_banks(of_a)) << first << ", product " << product;
      EXPECT_TRUE(are_in_different_banks(of_b)) << first << ", product " << product;
      EXPECT_TRUE(are_in_different_banks(of_row_major_b)) << first << ", product " << product;
    }
  }
}

}  // namespace
}  // namespace iris::device::mma_layout_test
