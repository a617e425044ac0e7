#include "runtime/world/heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
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

namespace iris {
namespace {

TEST(Heap, GivesAlignedOffsetsInOrder) {
  Heap heap(4096);
  EXPECT_EQ(heap.allocate(1), 0u);
  EXPECT_EQ(heap.allocate(257), 256u);
  EXPECT_EQ(heap.allocate(256), 768u);
  EXPECT_EQ(heap.allocated_bytes(), 1024u);
}

TEST(Heap, GivesEveryEmptyAllocationAPlaceOfItsOwn) {
  Heap heap(4096);
  EXPECT_NE(heap.allocate(0), heap.allocate(0));
}

TEST(Heap, UsesTheFirstPieceThatFits) {
  Heap heap(4096);
  const auto first = heap.allocate(512);
  heap.allocate(256);
  const auto third = heap.allocate(256);
  heap.allocate(256);
  ASSERT_TRUE(heap.free(*first));
  ASSERT_TRUE(heap.free(*third));
  EXPECT_EQ(heap.allocate(256), 0u);
  EXPECT_EQ(heap.allocate(512), 1280u);
}

TEST(Heap, JoinsNeighbouringFreePieces) {
  Heap heap(1024);
  std::vector<std::size_t> offsets;
  for (int i = 0; i < 4; ++i) offsets.push_back(*heap.allocate(256));
  for (const int i : {1, 3, 0, 2}) ASSERT_TRUE(heap.free(offsets[static_cast<std::size_t>(i)]));
  EXPECT_EQ(heap.largest_free(), 1024u);
  EXPECT_EQ(heap.allocate(1024), 0u);
}

TEST(Heap, FreesWhereThereIsNoMemoryAndStaysAsItWasWhereItCannotAllocate) {
  Heap heap(4096);
  const auto first = heap.allocate(256);
  const auto second = heap.allocate(256);
  const std::uint64_t digest = heap.digest();
  memory_is_out = true;
  EXPECT_THROW(heap.allocate(512), std::bad_alloc);
  memory_is_out = false;
  EXPECT_EQ(heap.digest(), digest);
  EXPECT_EQ(heap.largest_free(), 4096u - 512u);
  memory_is_out = true;
  const bool freed = heap.free(*first) && heap.free(*second);
  memory_is_out = false;
  EXPECT_TRUE(freed);
  EXPECT_EQ(heap.largest_free(), 4096u);
}

TEST(Heap, RefusesWhatDoesNotFit) {
  Heap heap(1024);
  EXPECT_FALSE(heap.allocate(1025).has_value());
  EXPECT_FALSE(heap.allocate(SIZE_MAX).has_value());
  ASSERT_TRUE(heap.allocate(1024).has_value());
  EXPECT_FALSE(heap.allocate(0).has_value());
  EXPECT_EQ(heap.free_bytes(), 0u);
  EXPECT_EQ(heap.largest_free(), 0u);
}

TEST(Heap, LetsNobodyFreeWhatIsAnothers) {
  Heap heap(1024);
  const auto users = heap.allocate(256);
  const auto operations = heap.allocate(256, Owner::operation);
  EXPECT_FALSE(heap.free(*operations));
  EXPECT_FALSE(heap.free(*users, Owner::operation));
  EXPECT_TRUE(heap.free(*operations, Owner::operation));
  EXPECT_TRUE(heap.free(*users));
}

TEST(Heap, HoldsWhatLiesWithinOneAllocation) {
  Heap heap(2048);
  EXPECT_FALSE(heap.holds(0, 0));
  const auto first = heap.allocate(512);
  heap.allocate(256);
  heap.allocate(256, Owner::operation);
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
  const auto offset = heap.allocate(512);
  EXPECT_FALSE(heap.free(*offset + 256));
  EXPECT_TRUE(heap.free(*offset));
  EXPECT_FALSE(heap.free(*offset));
}

TEST(Heap, DigestTellsWhatIsAllocatedNotHowItCameToBe) {
  Heap first(4096);
  Heap second(4096);
  const auto a = first.allocate(300);
  const auto b = first.allocate(300);
  const auto c = second.allocate(300);
  const auto d = second.allocate(300);
  first.allocate(700);
  second.allocate(700);
  ASSERT_TRUE(first.free(*a));
  ASSERT_NE(first.digest(), second.digest());
  ASSERT_TRUE(first.free(*b));
  ASSERT_TRUE(second.free(*d));
  ASSERT_TRUE(second.free(*c));
  EXPECT_EQ(first.digest(), second.digest());
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
    const auto offset = heap.allocate(bytes);
    if (!offset.has_value()) {
      ASSERT_LT(heap.largest_free(), std::max<std::size_t>(bytes, 1));
      continue;
    }
    const auto next = held.lower_bound(*offset);
    ASSERT_TRUE(next == held.end() || *offset + bytes <= next->first);
    ASSERT_TRUE(next == held.begin() || std::prev(next)->first + std::prev(next)->second <= *offset);
    ASSERT_LE(*offset + bytes, size);
    held.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : held) ASSERT_TRUE(heap.free(offset));
  EXPECT_EQ(heap.largest_free(), size);
  EXPECT_EQ(heap.digest(), 0u);
}

}  // namespace
}  // namespace iris
