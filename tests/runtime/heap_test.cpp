#include "runtime/world/heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <vector>

namespace {
bool memory_is_out = false;
}

void* operator new(std::size_t bytes) {
  void* memory = memory_is_out ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace iris::heap_test {
namespace {

constexpr Owner user = {};
constexpr Owner operation = {.kind = Owner::Kind::operation};

/// As a world's ranks do, whose heaps are equal.
std::optional<std::size_t> allocate(Heap& heap, std::size_t bytes, const Owner& owner = user) {
  heap.release(owner.group);
  const auto offset = first_fit(heap.free_blocks(owner.group), bytes);
  EXPECT_EQ(offset.has_value() && heap.allocate_at(*offset, bytes, owner), offset.has_value());
  return offset;
}

std::size_t largest_free(const Heap& heap) {
  std::size_t largest = 0;
  for (const FreeBlock& block : heap.free_blocks(user.group)) largest = std::max(largest, block.length);
  return largest;
}

TEST(Heap, GivesAlignedOffsetsInOrder) {
  Heap heap(4096);
  EXPECT_EQ(allocate(heap, 1), 0u);
  EXPECT_EQ(allocate(heap, 257), 256u);
  EXPECT_EQ(allocate(heap, 256), 768u);
  EXPECT_EQ(heap.holdings(0).bytes, 1024u);
}

TEST(Heap, GivesEveryEmptyAllocationAPlaceOfItsOwn) {
  Heap heap(4096);
  EXPECT_NE(allocate(heap, 0), allocate(heap, 0));
}

TEST(Heap, UsesTheFirstPieceThatFits) {
  Heap heap(4096);
  const auto first = allocate(heap, 512);
  allocate(heap, 256);
  const auto third = allocate(heap, 256);
  allocate(heap, 256);
  ASSERT_TRUE(heap.free(*first));
  ASSERT_TRUE(heap.free(*third));
  EXPECT_EQ(allocate(heap, 256), 0u);
  EXPECT_EQ(allocate(heap, 512), 1280u);
}

TEST(Heap, JoinsNeighbouringFreePieces) {
  Heap heap(1024);
  std::vector<std::size_t> offsets;
  for (int i = 0; i < 4; ++i) offsets.push_back(*allocate(heap, 256));
  for (const int i : {1, 3, 0, 2}) ASSERT_TRUE(heap.free(offsets[static_cast<std::size_t>(i)]));
  EXPECT_EQ(largest_free(heap), 1024u);
  EXPECT_EQ(allocate(heap, 1024), 0u);
}

TEST(Heap, FreesWhereThereIsNoMemoryAndStaysAsItWasWhereItCannotAllocate) {
  Heap heap(4096);
  const auto first = allocate(heap, 256);
  const auto second = allocate(heap, 256);
  const std::uint64_t digest = heap.holdings(0).digest;
  memory_is_out = true;
  EXPECT_THROW(heap.allocate_at(512, 512), std::bad_alloc);
  memory_is_out = false;
  EXPECT_EQ(heap.holdings(0).digest, digest);
  EXPECT_EQ(largest_free(heap), 4096u - 512u);
  memory_is_out = true;
  const bool freed = heap.free(*first) && heap.free(*second);
  heap.release(user.group);
  memory_is_out = false;
  EXPECT_TRUE(freed);
  EXPECT_EQ(heap.free_blocks(1), (std::vector<FreeBlock>{{0, 4096}}));
}

TEST(Heap, RefusesWhatDoesNotFit) {
  Heap heap(1024);
  EXPECT_FALSE(allocate(heap, 1025).has_value());
  EXPECT_FALSE(allocate(heap, SIZE_MAX).has_value());
  ASSERT_TRUE(allocate(heap, 1024).has_value());
  EXPECT_FALSE(allocate(heap, 0).has_value());
  EXPECT_EQ(largest_free(heap), 0u);
}

TEST(Heap, LetsNobodyFreeWhatIsAnothers) {
  Heap heap(1024);
  const auto users = allocate(heap, 256);
  const auto operations = allocate(heap, 256, operation);
  EXPECT_FALSE(heap.free(*operations));
  EXPECT_FALSE(heap.free(*users, operation));
  EXPECT_TRUE(heap.free(*operations, operation));
  EXPECT_TRUE(heap.free(*users));
}

TEST(Heap, HoldsWhatLiesWithinOneAllocation) {
  Heap heap(2048);
  EXPECT_FALSE(heap.holds(0, 0));
  const auto first = allocate(heap, 512);
  allocate(heap, 256);
  allocate(heap, 256, operation);
  EXPECT_TRUE(heap.holds(*first, 512));
  EXPECT_TRUE(heap.holds(*first + 500, 12));
  EXPECT_FALSE(heap.holds(*first + 500, 13)) << "the rest lies in the next";
  EXPECT_TRUE(heap.holds(512, 256));
  EXPECT_FALSE(heap.holds(768, 1)) << "an operation's";
  EXPECT_FALSE(heap.holds(1024, 1)) << "nobody's";
  EXPECT_FALSE(heap.holds(512, SIZE_MAX));
  heap.free(*first);
  EXPECT_FALSE(heap.holds(*first, 1));
}

TEST(Heap, RefusesToFreeWhatIsNotAllocated) {
  Heap heap(1024);
  const auto offset = allocate(heap, 512);
  EXPECT_FALSE(heap.free(*offset + 256));
  EXPECT_TRUE(heap.free(*offset));
  EXPECT_FALSE(heap.free(*offset));
}

TEST(Heap, DigestTellsWhatIsAllocatedNotHowItCameToBe) {
  Heap first(4096);
  Heap second(4096);
  const auto a = allocate(first, 300);
  const auto b = allocate(first, 300);
  const auto c = allocate(second, 300);
  const auto d = allocate(second, 300);
  allocate(first, 700);
  allocate(second, 700);
  ASSERT_TRUE(first.free(*a));
  ASSERT_NE(first.holdings(0).digest, second.holdings(0).digest);
  ASSERT_TRUE(first.free(*b));
  ASSERT_TRUE(second.free(*d));
  ASSERT_TRUE(second.free(*c));
  EXPECT_EQ(first.holdings(0).digest, second.holdings(0).digest);
}

TEST(Heap, GivesToNobodyElseWhatIsFreedAndNotReleased) {
  Heap heap(1024);
  const Owner others = {.kind = Owner::Kind::user, .group = 3};
  ASSERT_TRUE(heap.allocate_at(256, 256, others));
  ASSERT_TRUE(heap.free(256, others));
  EXPECT_FALSE(heap.holds(256, 1));
  EXPECT_EQ(heap.free_blocks(0), (std::vector<FreeBlock>{{0, 256}, {512, 512}}));
  EXPECT_EQ(heap.free_blocks(3), (std::vector<FreeBlock>{{0, 1024}}));
  EXPECT_FALSE(heap.allocate_at(256, 256, others));
  EXPECT_EQ(heap.unreleased_bytes(), 256u);
  heap.release(2);
  EXPECT_EQ(heap.free_blocks(0).size(), 2u);
  heap.release(3);
  EXPECT_EQ(heap.free_blocks(0), (std::vector<FreeBlock>{{0, 1024}}));
  EXPECT_EQ(heap.unreleased_bytes(), 0u);
}

TEST(Heap, TakesOnlyWhatIsFree) {
  Heap heap(1024);
  ASSERT_TRUE(heap.allocate_at(256, 300));
  EXPECT_FALSE(heap.allocate_at(256, 1));
  EXPECT_FALSE(heap.allocate_at(512, 1));
  EXPECT_FALSE(heap.allocate_at(0, 257));
  EXPECT_FALSE(heap.allocate_at(768, 257));
  EXPECT_FALSE(heap.allocate_at(1024, 0));
  EXPECT_TRUE(heap.allocate_at(0, 256));
  EXPECT_TRUE(heap.allocate_at(768, 256));
  EXPECT_TRUE(heap.free_blocks(0).empty());
}

TEST(Heap, EndsItsUseBehindTheLastAllocationThatIsNotReleased) {
  Heap heap(4096);
  EXPECT_EQ(heap.end_of_use(), 0u);
  ASSERT_TRUE(heap.allocate_at(256, 300));
  ASSERT_TRUE(heap.allocate_at(1024, 256));
  EXPECT_EQ(heap.end_of_use(), 1280u);
  ASSERT_TRUE(heap.free(1024));
  EXPECT_EQ(heap.end_of_use(), 1280u) << "another member may still use it";
  heap.release(user.group);
  EXPECT_EQ(heap.end_of_use(), 768u);
}

TEST(Heap, KeepsWhatEachGroupHolds) {
  Heap heap(4096);
  const Owner first = {.group = 1};
  const Owner second = {.group = 2};
  ASSERT_TRUE(heap.allocate_at(0, 256, first));
  ASSERT_TRUE(heap.allocate_at(512, 512, second));
  EXPECT_EQ(heap.holdings(1).bytes, 256u);
  EXPECT_EQ(heap.holdings(2).bytes, 512u);
  EXPECT_EQ(heap.holdings(0).allocations, 0u);
  EXPECT_FALSE(heap.free(0, second));
  EXPECT_TRUE(heap.free(0, first));
  EXPECT_EQ(heap.holdings(1).digest, 0u);
  EXPECT_NE(heap.holdings(2).digest, 0u);
}

TEST(Heap, FindsWhatIsFreeInAll) {
  using Blocks = std::vector<FreeBlock>;
  const std::vector<Blocks> heaps = {{{0, 1024}, {2048, 1024}}, {{256, 256}, {768, 2048}}, {{0, 4096}}};
  EXPECT_EQ(common_blocks(heaps), (Blocks{{256, 256}, {768, 256}, {2048, 768}}));
  EXPECT_EQ(first_fit(common_blocks(heaps), 257), 2048u);
  EXPECT_EQ(first_fit(common_blocks(heaps), 769), std::nullopt);
  EXPECT_EQ(common_blocks(std::vector<Blocks>{{{0, 512}}, {{512, 512}}}), Blocks());
}

TEST(Heap, NeverOverlapsAndNeverLosesAByte) {
  constexpr std::size_t size = 64 << 10;
  Heap heap(size);
  std::mt19937 random(7);
  std::map<std::size_t, std::size_t> held;
  for (int step = 0; step < 20000; ++step) {
    if (!held.empty() && random() % 2 == 0) {
      const auto victim = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
      ASSERT_TRUE(heap.free(victim->first));
      held.erase(victim);
      continue;
    }
    const std::size_t bytes = random() % 5000;
    const auto offset = allocate(heap, bytes);
    if (!offset.has_value()) {
      ASSERT_LT(largest_free(heap), std::max<std::size_t>(bytes, 1));
      continue;
    }
    const auto next = held.lower_bound(*offset);
    ASSERT_TRUE(next == held.end() || *offset + bytes <= next->first);
    ASSERT_TRUE(next == held.begin() || std::prev(next)->first + std::prev(next)->second <= *offset);
    ASSERT_LE(*offset + bytes, size);
    held.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : held) ASSERT_TRUE(heap.free(offset));
  EXPECT_EQ(largest_free(heap), size);
  EXPECT_EQ(heap.holdings(0).digest, 0u);
}

}  // namespace
}  // namespace iris::heap_test
