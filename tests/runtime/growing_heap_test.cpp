// Symmetric heaps that grow and give back, among threads on the CPU.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "growing_heap_samples.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "proc_self.hpp"
#include "processes.hpp"
#include "sanitizers.hpp"

namespace iris::growing_heap_test {
namespace {

using test::error_of;
using test::expect_part;
using test::first;
using test::host_operation;
using test::limit;
using test::mapped;
using test::mappings;
using test::MiB;
using test::open_files;
using test::writable_bytes;
using test::write;
using test::wrong_on_peers;
using test::wrong_values;

std::ptrdiff_t offset_of(const Context& context, const void* memory) {
  return static_cast<const char*>(memory) - context.heap_bases()[static_cast<std::size_t>(context.rank())];
}

TEST(GrowingHeap, MapsAsItGrowsAndStaysWhereItIs) {
  World world({.size = 3, .heap_bytes = first, .heap_limit = limit});
  world.run([](Context& context) {
    const std::vector<char*> bases(context.heap_bases().begin(), context.heap_bases().end());
    char* const own = bases[static_cast<std::size_t>(context.rank())];
    void* small = context.allocate(3000);
    write(small, 3000, context.rank());
    EXPECT_EQ(mapped(context), first);
    EXPECT_EQ(writable_bytes(own, limit), first);
    EXPECT_FALSE(context.is_symmetric(own + first, 1)) << "nothing is mapped there";
    for (int round = 0; round < 18; ++round) {
      const std::size_t bytes = (static_cast<std::size_t>(round) + 1) * 250'000;
      void* memory = context.allocate(bytes);
      EXPECT_TRUE(context.is_symmetric(memory, bytes));
      EXPECT_EQ(wrong_on_peers(context, memory, bytes), 0U);
    }
    EXPECT_EQ(wrong_values(small, 3000, context.rank()), 0U);
    EXPECT_TRUE(std::ranges::equal(bases, context.heap_bases()));
    EXPECT_EQ(writable_bytes(own, limit), mapped(context));
    EXPECT_LT(mapped(context), limit);
  });
}

/// What was loaded before the heap grew goes on, with buffers that lie in several pieces as well.
TEST(GrowingHeap, OperationsGoOnAfterGrowth) {
  World world({.size = 3, .heap_bytes = 1 << 16, .heap_limit = limit});
  world.run([](Context& context) {
    constexpr std::int64_t n = 700'000;
    Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
    auto* before = static_cast<std::int32_t*>(context.allocate(1024));
    auto* after = static_cast<std::int32_t*>(context.allocate(n * 4));
    auto* output = static_cast<std::int32_t*>(context.allocate(n * 4));
    const auto check = [&](std::int32_t* input, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) input[i] = static_cast<std::int32_t>((context.rank() + 2) * (i % 977));
      context.barrier();
      sum.launch({input, output}, {{"n", count}});
      context.barrier();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) wrong += output[i] != 9 * (i % 977) ? 1 : 0;
      EXPECT_EQ(wrong, 0);
      context.barrier();
    };
    check(before, 256);
    check(after, n);
  });
}

TEST(GrowingHeap, SaysBothSizesWhereItEnds) {
  World world({.size = 2, .heap_bytes = first, .heap_limit = 8192});
  world.run([](Context& context) {
    void* half = context.allocate(4096);
    EXPECT_EQ(
        error_of([&] { context.allocate(4097); }),
        "allocate(4097 bytes) does not fit on the symmetric heap, which begins with 4096 bytes and grows to 8192: "
        "of 8192 bytes on each rank, 4096 are free, 4096 of them in one block; raise WorldOptions::heap_limit or "
        "free something");
    void* rest = context.allocate(4096);
    EXPECT_EQ(wrong_on_peers(context, rest, 4096), 0U);
    EXPECT_NE(error_of([&] { context.allocate(1); }), "");
    context.free(half);
    EXPECT_EQ(context.allocate(4096), half);
  });
}

TEST(GrowingHeap, ALimitMayBeLessThanWhatIsMappedFromTheStart) {
  World world({.size = 2, .heap_limit = 4096});
  world.run([](Context& context) {
    EXPECT_EQ(mapped(context), 4096U);
    expect_part(error_of([&] { context.allocate(8192); }),
                "the symmetric heap: of 4096 bytes on each rank, 4096 are free");
  });
}

TEST(GrowingHeap, WithoutALimitGrowsBeyondItsFirstSize) {
  World world({.size = 2, .heap_bytes = first});
  world.run([](Context& context) { EXPECT_EQ(wrong_on_peers(context, context.allocate(3 * MiB), 3 * MiB), 0U); });
}

TEST(GrowingHeap, SaysWhenTheMachineHasNoMoreMemory) {
  constexpr std::size_t far = std::size_t{1} << 40;
  World world({.size = 1, .heap_bytes = first, .heap_limit = far});
  world.run([](Context& context) {
    void* memory = context.allocate(1024);
    const std::string error = error_of([&] { context.allocate(far - 4096); });
    expect_part(error,
                "allocate(1099511623680 bytes) cannot be done on rank 0: the symmetric heap cannot grow from "
                "4096 to 1099511624704 bytes: all ranks that grow take 1099511620608 more of this machine's "
                "memory, but ");
    expect_part(error, " are available; free something");
    EXPECT_EQ(mapped(context), first);
    write(memory, 1024, 0);
    EXPECT_NE(context.allocate(MiB), nullptr);
  });
}

TEST(GrowingHeap, GivesBackWhatIsFreedAndAskedFor) {
  World world({.size = 2, .heap_bytes = MiB, .heap_limit = limit});
  world.run([](Context& context) {
    char* const own = context.heap_bases()[static_cast<std::size_t>(context.rank())];
    void* low = context.allocate(1000);
    void* high = context.allocate(20 * MiB);
    write(low, 1000, context.rank());
    write(high, 20 * MiB, context.rank());
    const std::size_t grown = mapped(context);
    EXPECT_GE(grown, 20 * MiB);
    EXPECT_EQ(context.trim(), 0U) << "all of it is in use";
    context.free(high);
    EXPECT_EQ(mapped(context), grown) << "nobody has asked";
    EXPECT_EQ(context.trim(), grown - MiB);
    EXPECT_EQ(mapped(context), MiB);
    EXPECT_EQ(writable_bytes(own, limit), MiB);
    EXPECT_EQ(context.trim(), 0U);
    EXPECT_EQ(wrong_values(low, 1000, context.rank()), 0U);
    high = context.allocate(20 * MiB);
    EXPECT_EQ(*(static_cast<char*>(high) + MiB), 0) << "new pages";
    EXPECT_EQ(wrong_on_peers(context, high, 20 * MiB), 0U);
  });
}

/// Rank 1 alone still has what both had: it is kept, on both.
TEST(GrowingHeap, KeepsWhatAMemberHasNotFreed) {
  World world({.size = 2, .heap_bytes = first, .heap_limit = limit});
  world.run([](Context& context) {
    Group pair = context.group({1, 0});
    void* memory = pair.allocate(5 * MiB);
    if (context.rank() == 0) pair.free(memory);
    pair.barrier();
    EXPECT_EQ(context.trim(), 0U);
    if (context.rank() == 1) pair.free(memory);
    pair.barrier();
    EXPECT_EQ(context.trim(), 5 * MiB - first);
  });
}

TEST(GrowingHeap, IsMappedOnceHoweverOftenMemoryIsFreedAndAllocated) {
  World world({.size = 2, .heap_bytes = first, .heap_limit = limit});
  world.run([](Context& context) {
    std::size_t grown = 0;
    for (int round = 0; round < 100; ++round) {
      void* memory = context.allocate(8 * MiB);
      auto* const values = static_cast<char*>(memory);
      if (round == 0) grown = mapped(context);
      EXPECT_EQ(values[7 * MiB], round == 0 ? 0 : 'x') << "these are other pages";
      values[7 * MiB] = 'x';
      context.free(memory);
    }
    EXPECT_EQ(mapped(context), grown);
  });
}

TEST(GrowingHeap, GrowsOnTheMembersOfTheGroupThatNeedsIt) {
  World world({.size = 3, .heap_bytes = first, .heap_limit = limit});
  world.run([](Context& context) {
    const int rank = context.rank();
    if (rank < 2) {
      Group left = context.group({0, 1});
      EXPECT_EQ(wrong_on_peers(left, left.allocate(6 * MiB), 6 * MiB), 0U);
    }
    context.barrier();
    EXPECT_EQ(mapped(context) > first, rank < 2);
    if (rank > 0) {
      Group right = context.group({2, 1});
      void* memory = right.allocate(MiB);
      EXPECT_EQ(offset_of(context, memory), 6 * static_cast<std::ptrdiff_t>(MiB));
      EXPECT_EQ(wrong_on_peers(right, memory, MiB), 0U);
    }
    EXPECT_EQ(wrong_on_peers(context, context.allocate(30 * MiB), 30 * MiB), 0U);
  });
}

TEST(GrowingHeap, LeavesNothingBehindAfterAThousandGrowths) {
  World world({.size = 2, .heap_bytes = first, .heap_limit = limit});
  std::size_t files = 0;
  std::size_t maps = 0;
  for (int round = 0; round < 1010; ++round) {
    world.run([&](Context& context) {
      void* memory = context.allocate(4 * MiB);
      *static_cast<char*>(memory) = 'x';
      context.free(memory);
      EXPECT_EQ(context.trim(), 4 * MiB - first);
    });
    if (round == 9) {
      files = open_files();
      maps = mappings();
    }
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_LT(mappings(), maps + 100) << "a leak leaves one for each round";
}

TEST(GrowingHeap, TrimIsACallOfAllRanks) {
  World world({.size = 2, .heap_bytes = first, .heap_limit = limit});
  expect_part(error_of([&] {
                world.run([](Context& context) {
                  if (context.rank() == 0) context.trim();
                  context.barrier();
                });
              }),
              "rank 0: trim(); rank 1: barrier()");
}

#ifndef IRIS_ADDRESS_SANITIZER  // which takes terabytes of address space
TEST(GrowingHeap, HasOneSizeWhereAddressesAreLimited) {
  test::Processes processes;
  processes.start(0, [](int) {
    rlimit addresses{};
    ::getrlimit(RLIMIT_AS, &addresses);
    addresses.rlim_cur = rlim_t{4} << 30;
    ::setrlimit(RLIMIT_AS, &addresses);
    std::string said = error_of([] { const World world({.size = 2, .heap_bytes = first, .heap_limit = MiB << 13}); });
    World world({.size = 2, .heap_bytes = first});
    world.run([&](Context& context) {
      const std::string mine = error_of([&] { context.allocate(first + 1); });
      if (context.rank() == 0) said += "|" + mine;
    });
    return said;
  });
  EXPECT_EQ(
      processes.wait()[0].said,
      "rank 0 cannot reserve 8589934592 bytes of addresses for a heap on host: Cannot allocate memory; lower "
      "WorldOptions::heap_limit, or raise the limit of addresses (ulimit -v)|allocate(4097 bytes) does not fit on "
      "the symmetric heap: of 4096 bytes on each rank, 4096 are free, 4096 of them in one block; raise "
      "WorldOptions::heap_limit or free something");
}
#endif

}  // namespace
}  // namespace iris::growing_heap_test
