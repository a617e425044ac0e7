// Symmetric memory on GPUs of the tests' own library: what heaps ask of virtual memory management, what remains where
// there is none, and how processes come by what others have adopted. Each world has processes of its own, since a
// process opens its library once.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "runtime/world/context.hpp"
#include "runtime/world/group.hpp"
#include "tests/runtime/fake_hip.hpp"
#include "variable.hpp"

namespace iris::hip_heap_test {
namespace {

using test::error_of;
using test::expect_all_say;
using test::expect_part;
using test::Processes;
using test::run_ranks;

constexpr std::size_t unit = FakeVirtualMemory::unit;
constexpr const char* with_uncached_memory = "70200000";

/// The library's state in this process.
FakeHip& fake_hip() {
  static FakeHip* const state = [] {
    void* library = dlopen(IRISGEN_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeHip* (*)()>(dlsym(library, "fake_hip_state"))();
  }();
  return *state;
}

class HipHeap : public testing::Test {
 protected:
  /// What the body says, in a process of its own.
  static std::string said_by(const std::function<std::string()>& body) {
    Processes processes;
    processes.start(0, [&](int) { return body(); });
    return processes.wait()[0].said;
  }

  const test::Variable library_{"IRISGEN_HIP_LIBRARY", IRISGEN_FAKE_HIP};
};

class HipHeapThatGrows : public HipHeap {
  const test::Variable version_{"FAKE_HIP_VERSION", with_uncached_memory};
};

WorldOptions options_of(int size) {
  return {.size = size, .target = "gfx90a", .heap_bytes = unit, .heap_limit = 64 * unit};
}

std::string counts() {
  const FakeHip& state = fake_hip();
  return std::to_string(state.live_mappings) + " mapped, " + std::to_string(state.live_handles) + " handles, " +
         std::to_string(state.allocated_bytes() / unit) + " units, " + std::to_string(state.reserved.size()) +
         " reserved";
}

TEST_F(HipHeapThatGrows, ThreadsMapNewMemoryForAllDevices) {
  EXPECT_EQ(said_by([] {
              std::string said;
              {
                World world(options_of(2));
                fake_hip().accessing.clear();
                world.run([&](Context& context) {
                  const std::vector<char*> bases(context.heap_bases().begin(), context.heap_bases().end());
                  char* memory = static_cast<char*>(context.allocate(3 * unit));
                  const bool is_zero = std::all_of(memory + unit, memory + 3 * unit, [](char c) { return c == 0; });
                  memory[3 * unit - 1] = static_cast<char>(context.rank() + 1);
                  context.barrier();
                  const int peer = 1 - context.rank();
                  const char* theirs = static_cast<char*>(context.on_rank(memory, peer)) + 3 * unit - 1;
                  const bool is_theirs = *theirs == peer + 1;
                  const bool stays = std::ranges::equal(bases, context.heap_bases());
                  context.barrier();
                  if (context.rank() == 0) said = is_zero && is_theirs && stays ? "right, " : "wrong, ";
                  if (context.rank() == 0) said += counts();
                  context.barrier();
                });
                said += ", " + std::to_string(fake_hip().accessing.size()) + " devices";
              }
              return said + "; " + counts();
            }),
            "right, 4 mapped, 4 handles, 6 units, 2 reserved, 2 devices; 0 mapped, 0 handles, 0 units, 0 reserved");
}

TEST_F(HipHeapThatGrows, ThreadsFailAlikeWhereOneGpuIsFull) {
  EXPECT_EQ(said_by([] {
              World world(options_of(2));
              std::vector<std::string> said(2);
              std::string after;
              world.run([&](Context& context) {
                if (context.rank() == 0) fake_hip().full_device = 1;
                context.barrier();
                std::string& mine = said[static_cast<std::size_t>(context.rank())];
                mine = error_of([&] { context.allocate(3 * unit); });
                context.barrier();
                if (context.rank() == 0) after = counts();
                if (context.rank() == 0) fake_hip().full_device = -1;
                context.barrier();
                context.allocate(3 * unit);
              });
              return (said[0] == said[1] ? "" : "differ: ") + said[0] + "; " + after;
            }),
            "allocate(6291456 bytes) cannot be done on rank 1: the symmetric heap cannot grow from 2097152 to 6291456 "
            "bytes: hipMemCreate (4194304 bytes) failed on rank 1, device 1: hipErrorOutOfMemory, other; 2 mapped, 2 "
            "handles, 2 units, 2 reserved");
}

/// A part more than is asked for does not fail what fits.
TEST_F(HipHeapThatGrows, TakesWhatItNeedsWhereThereIsNoMore) {
  EXPECT_EQ(said_by([] {
              WorldOptions options = options_of(1);
              options.heap_bytes = 16 * unit;
              World world(options);
              std::string said;
              world.run([&](Context& context) {
                fake_hip().memory_bytes = 17 * unit;
                context.allocate(17 * unit);
                said = counts();
              });
              return said;
            }),
            "2 mapped, 2 handles, 17 units, 1 reserved");
}

/// Virtual memory is not cached by AMD's GPUs: threads have it where a program asks for a heap that grows.
TEST_F(HipHeapThatGrows, ThreadsHaveOneAllocationUnlessALimitIsNamed) {
  const std::string said = said_by([] {
    World world({.size = 2, .target = "gfx90a", .heap_bytes = unit});
    std::string error;
    world.run([&](Context& context) {
      const std::string mine = error_of([&] { context.allocate(2 * unit); });
      if (context.rank() == 0) error = mine;
    });
    return error + "; " + counts();
  });
  expect_part(said,
              "of 2097152 bytes on each rank, 2097152 are free, 2097152 of them in one block; raise "
              "WorldOptions::heap_limit or free something; 0 mapped");
}

TEST_F(HipHeapThatGrows, ManyGrowthsLeaveNothing) {
  EXPECT_EQ(said_by([] {
              World world(options_of(2));
              for (int round = 0; round < 300; ++round) {
                world.run([](Context& context) {
                  context.free(context.allocate(2 * unit));
                  if (context.trim() != unit) throw std::runtime_error("another length");
                });
              }
              return counts() + (fake_hip().creations >= 602 ? "" : ", and did not grow each time");
            }),
            "2 mapped, 2 handles, 2 units, 2 reserved");
}

/// Writes its number at the end, and reads that of the others.
bool reaches_all(Context& context, void* memory, std::size_t bytes) {
  static_cast<char*>(memory)[bytes - 1] = static_cast<char>(context.rank() + 1);
  context.barrier();
  bool right = true;
  for (int rank = 0; rank < context.num_ranks(); ++rank) {
    right = right && static_cast<char*>(context.on_rank(memory, rank))[bytes - 1] == rank + 1;
  }
  context.barrier();
  return right;
}

TEST_F(HipHeapThatGrows, ProcessesMapOneAnothersPieces) {
  expect_all_say(run_ranks(3,
                           [](int) {
                             std::string said;
                             {
                               World world = World::join(options_of(3));
                               world.run([&](Context& context) {
                                 for (std::size_t round = 1; round <= 4; ++round) {
                                   void* memory = context.allocate(round * unit);
                                   if (!reaches_all(context, memory, round * unit)) said += "wrong, ";
                                 }
                                 said += counts();
                                 context.barrier();
                               });
                             }
                             return said + "; " + counts();
                           }),
                 "12 mapped, 12 handles, 10 units, 3 reserved; 0 mapped, 0 handles, 0 units, 0 reserved");
}

TEST_F(HipHeapThatGrows, ProcessesFailAlikeWhereOneCannotMapAnothers) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = World::join(options_of(3));
    std::string said;
    world.run([&](Context& context) {
      fake_hip().may_be_imported = number != 2;
      said = error_of([&] { context.allocate(3 * unit); });
      said += "; " + counts();
      fake_hip().may_be_imported = true;
      void* memory = context.allocate(3 * unit);
      if (!reaches_all(context, memory, 3 * unit)) said += ", and does not grow again";
    });
    return said;
  });
  expect_all_say(
      outcomes,
      "allocate(6291456 bytes) cannot be done on rank 2: the symmetric heap of another rank cannot be mapped: "
      "hipMemImportFromShareableHandle (4194304 bytes) failed on rank 2, device 0: hipErrorOther, other; 3 "
      "mapped, 3 handles, 1 units, 3 reserved");
}

TEST_F(HipHeap, ByIpcHandlesHasOneSizeAndSaysSo) {
  const auto outcomes = run_ranks(2, [](int) {
    World world = World::join(options_of(2));
    std::string said;
    world.run([&](Context& context) {
      if (!reaches_all(context, context.allocate(unit), unit)) said = "wrong, ";
      said += error_of([&] { context.allocate(1); });
      said += "; trim: " + std::to_string(context.trim());
    });
    return said;
  });
  expect_all_say(
      outcomes,
      "allocate(1 bytes) does not fit on the symmetric heap: of 2097152 bytes on each rank, 0 are free, 0 of "
      "them in one block; raise WorldOptions::heap_bytes or free something, for the heap cannot grow: HIP 6.2 (" +
          std::string(IRISGEN_FAKE_HIP) + ") has no virtual memory in which GPUs see one another's stores; trim: 0");
}

/// As a caching allocator gives them out: parts of one allocation, of which processes have no more than one handle.
TEST_F(HipHeap, PartsOfAnAllocationAreAdoptedByItsIpcHandle) {
  expect_all_say(run_ranks(3,
                           [](int) {
                             World world = World::join(options_of(3));
                             std::string said;
                             world.run([&](Context& context) {
                               const int before = fake_hip().open_handles;
                               char* const whole = static_cast<char*>(context.device().allocate(4096));
                               char* const parts[] = {whole + 256, whole + 2048};
                               for (int round = 0; round < 2; ++round) {
                                 for (char* part : parts) context.as_symmetric(part, 512);
                                 for (char* part : parts) said += reaches_all(context, part, 512) ? "" : "wrong, ";
                                 said += std::to_string(fake_hip().open_handles - before) + " open, ";
                                 for (char* part : parts) context.release_symmetric(part);
                                 said += std::to_string(fake_hip().open_handles - before) + " left; ";
                               }
                               context.barrier();
                               context.device().release(whole);
                             });
                             return said;
                           }),
                 "2 open, 0 left; 2 open, 0 left; ");
}

TEST_F(HipHeap, ProcessesFailAlikeWhereOneCannotOpenAnothersHandle) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = World::join(options_of(3));
    std::string said;
    world.run([&](Context& context) {
      char* const memory = static_cast<char*>(context.device().allocate(4096));
      const int before = fake_hip().open_handles;
      fake_hip().may_be_imported = number != 2;
      said = error_of([&] { context.as_symmetric(memory, 4096); });
      said += "; " + std::to_string(fake_hip().open_handles - before) + " open";
      fake_hip().may_be_imported = true;
      context.as_symmetric(memory, 4096);
      if (!reaches_all(context, memory, 4096)) said += ", and does not adopt it again";
      context.barrier();
    });
    return said;
  });
  expect_all_say(outcomes,
                 "as_symmetric(4096 bytes) cannot be done on rank 2: hipIpcOpenMemHandle (memory of another process) "
                 "failed on rank 2, device 0: hipErrorOther, other; 0 open");
}

}  // namespace
}  // namespace iris::hip_heap_test
