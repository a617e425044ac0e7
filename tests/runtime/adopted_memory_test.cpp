// Memory that somebody else allocated, in worlds of threads on the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "adopted_sums.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"

namespace iris::adopted_memory_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::of_n;
using test::adopted::bytes;
using test::adopted::expect_sums;
using test::adopted::fill;
using test::adopted::n;
using test::adopted::Own;

/// What each rank says.
template <typename Body>
std::vector<std::string> sayings(World& world, const Body& body) {
  std::vector<std::string> said(static_cast<std::size_t>(world.size()));
  world.run([&](Context& context) { said[static_cast<std::size_t>(context.rank())] = body(context); });
  return said;
}

TEST(AdoptedMemory, IsSymmetric) {
  World world({.size = 3, .heap_bytes = 4096});
  std::array<char*, 3> begins{};
  world.run([&](Context& context) {
    Own own(context);
    begins.at(static_cast<std::size_t>(context.rank())) = own.begin;
    EXPECT_FALSE(context.is_symmetric(own.begin, 1));
    context.as_symmetric(own.begin, 1000);
    EXPECT_TRUE(context.is_symmetric(own.begin, 1000));
    EXPECT_TRUE(context.is_symmetric(own.begin + 999, 1));
    EXPECT_TRUE(context.is_symmetric(own.begin + 999, 0));
    EXPECT_FALSE(context.is_symmetric(own.begin + 999, 2));
    EXPECT_FALSE(context.is_symmetric(own.begin + 1000, 0));
    EXPECT_FALSE(context.is_symmetric(own.begin - 1, 2));
    for (int peer = 0; peer < 3; ++peer) {
      EXPECT_EQ(context.on_rank(own.begin + 77, peer), begins.at(static_cast<std::size_t>(peer)) + 77);
    }
    context.release_symmetric(own.begin);
    EXPECT_FALSE(context.is_symmetric(own.begin, 1));
    expect_part(error_of([&] { context.on_rank(own.begin, 1); }), "not on the symmetric heap");
  });
}

TEST(AdoptedMemory, TakesInputAndOutputOfOneWindowAtAnOffset) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Own own(context);
    context.as_symmetric(own.begin, 2048);
    Operation sum(context, host_operation("sum_of_three", 3), of_n(n));
    for (int launch = 0; launch < 5; ++launch) {
      fill(context, own.at(64), launch);
      context.barrier();
      sum.launch({own.at(64), own.at(1024)}, of_n(n));
      context.barrier();
      expect_sums(own.at(1024), launch);
    }
  });
}

TEST(AdoptedMemory, TakesBuffersOfTwoWindowsAndOfTheHeap) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Own first(context);
    Own second(context, 8192);
    context.as_symmetric(first.begin, 1024);
    context.as_symmetric(second.begin + 512, 1024);
    auto* on_heap = static_cast<int*>(context.allocate(bytes));
    Operation sum(context, host_operation("sum_of_three", 3), of_n(n));
    const std::array<std::array<int*, 2>, 4> buffers = {{{first.at(128), second.at(640)},
                                                         {second.at(1024), on_heap},
                                                         {on_heap, first.at(0)},
                                                         {second.at(512), first.at(512)}}};
    int launch = 0;
    for (const auto& [input, output] : buffers) {
      fill(context, input, ++launch);
      context.barrier();
      sum.launch({input, output}, of_n(n));
      context.barrier();
      expect_sums(output, launch);
    }
  });
}

/// A launch keeps what it was launched with, whatever the next one is about.
TEST(AdoptedMemory, LaunchesInARowKeepTheirOwnWindows) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    constexpr int launches = 6;
    std::vector<Own> owns;
    owns.reserve(launches);
    for (int i = 0; i < launches; ++i) owns.emplace_back(context);
    for (Own& own : owns) {
      own.begin = own.memory.data() + 512;  // it was moved
      context.as_symmetric(own.begin, 2048);
    }
    Operation sum(context, host_operation("sum_of_three", 3), of_n(n));
    for (int i = 0; i < launches; ++i) fill(context, owns[static_cast<std::size_t>(i)].at(0), i);
    context.barrier();
    for (Own& own : owns) sum.launch({own.at(0), own.at(1024)}, of_n(n));
    context.barrier();
    for (int i = 0; i < launches; ++i) expect_sums(owns[static_cast<std::size_t>(i)].at(1024), i);
  });
}

/// An operation with so many arguments, each in adopted memory of its own; a kernel of two takes the last of them, and
/// reads the one before from all ranks.
std::string launch_with(std::size_t windows) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  BuiltOperation built = host_operation("sum_of_three", 3);
  Manifest& manifest = built.manifest;
  while (manifest.arguments.size() < windows) {
    manifest.arguments.insert(manifest.arguments.begin() + 1, manifest.arguments.front());
    manifest.arguments[1].name = "more_" + std::to_string(manifest.arguments.size());
  }
  const std::string& input = manifest.arguments[windows - 2].name;
  manifest.schedules[0].steps = {{0, LaunchStep{0, {input, "output"}, {{"n"}}}}};
  return sayings(world, [&](Context& context) {
    std::vector<Own> owns;
    std::vector<void*> buffers;
    owns.reserve(windows);
    for (std::size_t i = 0; i < windows; ++i) owns.emplace_back(context);
    for (Own& own : owns) {
      buffers.push_back(own.memory.data());
      context.as_symmetric(own.memory.data(), 512);
    }
    Operation sum(context, built, of_n(n));
    fill(context, static_cast<int*>(buffers[windows - 2]));
    context.barrier();
    const std::string refused = error_of([&] { sum.launch(buffers, of_n(n)); });
    context.barrier();
    if (refused.empty()) expect_sums(static_cast<int*>(buffers.back()));
    return refused;
  })[0];
}

TEST(AdoptedMemory, OfALaunchLiesInFourRangesAtMost) {
  EXPECT_EQ(launch_with(4), "");
  expect_part(launch_with(5), "may lie in 4 ranges of adopted memory, these lie in more");
}

/// Two of three ranks give what the other does not.
TEST(AdoptedMemory, DiffersNotInSize) {
  World world({.size = 3, .heap_bytes = 4096});
  const auto said = sayings(world, [](Context& context) {
    Own own(context);
    return error_of([&] { context.as_symmetric(own.begin, context.rank() == 1 ? 512 : 1024); });
  });
  for (const std::string& each : said) {
    expect_part(each, "ranks 0, 2: as_symmetric(1024 bytes); rank 1: as_symmetric(512 bytes)");
  }
}

/// What one rank gave before, the other gives now, in a group whose ranks are not numbered from 0.
TEST(AdoptedMemory, IsNotAnotherRanks) {
  World world({.size = 3, .heap_bytes = 4096});
  static std::array<char, 512> halves;
  const auto said = sayings(world, [](Context& context) {
    if (context.rank() == 0) return std::string();
    Group pair = context.group({1, 2});
    const auto half_in = [&](int turn) { return halves.data() + (context.rank() == 1 + turn ? 0 : 256); };
    pair.as_symmetric(half_in(0), 256);
    std::string refused = error_of([&] { pair.as_symmetric(half_in(1), 256); });
    pair.release_symmetric(half_in(0));
    return refused;
  });
  for (const int rank : {1, 2}) {
    expect_part(said.at(static_cast<std::size_t>(rank)),
                "as_symmetric(256 bytes) in group {1, 2} cannot be done on rank 1: "
                "rank 1 gives memory that is, or overlaps, what rank 2 gave; each gives its own");
  }
}

TEST(AdoptedMemory, OfOneRankRefusesThoseOfAll) {
  World world({.size = 3, .heap_bytes = 4096});
  const auto refusals_of = [&](auto memory_of) {
    return sayings(world, [&](Context& context) {
      Own own(context);
      context.as_symmetric(own.begin, 256);
      char* on_heap = static_cast<char*>(context.allocate(1024));
      const auto [memory, length] = memory_of(context.rank(), own.begin, on_heap);
      std::string refused = error_of([&, given = memory, size = length] { context.as_symmetric(given, size); });
      // All are as they were.
      EXPECT_FALSE(context.is_symmetric(own.begin + 256, 1));
      context.as_symmetric(own.begin + 256, 128);
      EXPECT_TRUE(context.is_symmetric(own.begin + 256, 1));
      context.release_symmetric(own.begin + 256);
      context.release_symmetric(own.begin);
      context.free(on_heap);
      return refused;
    });
  };
  using Range = std::pair<char*, std::size_t>;
  const auto expect_all = [](const std::vector<std::string>& said, const std::string& words) {
    for (const std::string& each : said) EXPECT_EQ(each.substr(0, words.size()), words);
  };
  expect_all(refusals_of([](int rank, char* own, char*) { return Range{rank == 1 ? nullptr : own + 1024, 64}; }),
             "as_symmetric(64 bytes) cannot be done on rank 1: the memory is null");
  expect_all(refusals_of([](int, char* own, char*) { return Range{own + 1024, 0}; }),
             "as_symmetric(0 bytes) cannot be done on rank 0: there is nothing to adopt");
  expect_all(
      refusals_of([](int rank, char* own, char* on_heap) { return Range{rank == 2 ? on_heap : own + 1024, 64}; }),
      "as_symmetric(64 bytes) cannot be done on rank 2: the memory lies on the symmetric heap");
  static constexpr std::size_t too_long = std::numeric_limits<std::size_t>::max() - 64;
  expect_all(refusals_of([](int, char* own, char*) { return Range{own + 1024, too_long}; }),
             "as_symmetric(" + std::to_string(too_long) +
                 " bytes) cannot be done on rank 0: no memory is as long; give the bytes that it has");
  // Of ranks 1 and 2, whose own lie elsewhere.
  static std::array<char, 256> common;
  for (const std::size_t between : {0, 63}) {
    expect_all(refusals_of([&](int rank, char* own, char*) {
                 return Range{rank == 0 ? own + 1024 : common.data() + between * static_cast<std::size_t>(rank - 1),
                              64};
               }),
               "as_symmetric(64 bytes) cannot be done on rank 0: rank 2 gives memory that is, or overlaps, what rank 1 "
               "gave; each gives its own");
  }
  for (const std::ptrdiff_t offset : {-63, 0, 100, 255}) {
    expect_all(refusals_of([&](int rank, char* own, char*) { return Range{own + (rank == 2 ? offset : 1024), 64}; }),
               "as_symmetric(64 bytes) cannot be done on rank 2: the memory overlaps adopted memory ");
  }
}

TEST(AdoptedMemory, NoLongerCountsAfterItsRelease) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Own own(context);
    context.as_symmetric(own.begin, 2048);
    Operation sum(context, host_operation("sum_of_three", 3), of_n(n));
    fill(context, own.at(0));
    context.barrier();
    sum.launch({own.at(0), own.at(1024)}, of_n(n));
    context.release_symmetric(own.begin);  // waits for the launch
    expect_sums(own.at(1024));
    expect_part(error_of([&] { sum.launch({own.at(0), own.at(1024)}, of_n(n)); }),
                "'input' (400 bytes) does not lie within an allocation on the symmetric heap, nor in adopted memory");
    // The heap's buffers are taken as ever.
    auto* input = static_cast<int*>(context.allocate(bytes));
    auto* output = static_cast<int*>(context.allocate(bytes));
    fill(context, input, 3);
    context.barrier();
    sum.launch({input, output}, of_n(n));
    context.barrier();
    expect_sums(output, 3);
  });
}

TEST(AdoptedMemory, IsReleasedByAllAlike) {
  World world({.size = 3, .heap_bytes = 4096});
  const auto said = sayings(world, [](Context& context) {
    Own own(context);
    context.as_symmetric(own.begin, 512);
    context.as_symmetric(own.begin + 512, 256);
    return error_of([&] { context.release_symmetric(own.begin + (context.rank() == 0 ? 512 : 0)); });
  });
  for (const std::string& each : said) {
    expect_part(each,
                "rank 0: release_symmetric(adopted memory 2, 256 bytes); ranks 1, 2: release_symmetric(adopted memory "
                "1, 512 bytes)");
  }
  World another({.size = 3, .heap_bytes = 4096});
  const auto unknown = sayings(another, [](Context& context) {
    Own own(context);
    return error_of([&] { context.release_symmetric(own.begin); });
  });
  for (const std::string& each : unknown) expect_part(each, "releases memory that as_symmetric() did not adopt");
}

/// Rank 1's launch is compared with that of another, which has come before.
std::string disagreement(std::size_t in_window, std::size_t in_adoption) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  std::string failure;
  error_of([&] {
    world.run([&](Context& context) {
      Own own(context, 8192);
      context.as_symmetric(own.begin, 2048);
      context.as_symmetric(own.begin + 2048, 2048);
      Operation sum(context, host_operation("sum_of_three", 3), of_n(n));
      const bool is_odd = context.rank() == 1;
      int* const output = own.at(is_odd ? in_adoption * 2048 + in_window : 1024);
      for (int turn = 0; turn < 2; ++turn) {
        if (turn == (is_odd ? 1 : 0)) {
          const std::string error = error_of([&] { sum.launch({own.at(0), output}, of_n(n)); });
          if (is_odd) failure = error;
        }
        context.allocate(16);
      }
      throw std::runtime_error("nobody waits");
    });
  });
  return failure;
}

TEST(AdoptedMemory, MustBeTheSameOnEveryRank) {
  EXPECT_EQ(disagreement(1024, 0), "");
  expect_part(disagreement(512, 0), "input at 0 of adopted memory 1, output at 512 of adopted memory 1) is not that");
  expect_part(disagreement(1024, 1), "input at 0 of adopted memory 1, output at 1024 of adopted memory 2) is not that");
}

/// An all-gather of copies between two barriers.
TEST(AdoptedMemory, IsReachedByCopies) {
  BuiltOperation built = host_operation("sum_of_three", 3);  // barriers, as it were
  Manifest& manifest = built.manifest;
  manifest.in_place = InPlace::no;
  manifest.arguments[1].shape = {{"n", 3}};
  manifest.intermediates = {{.name = "sums", .dtype = Dtype::i32, .shape = {{"n"}}}};
  const Step meet = {0, LaunchStep{0, {"input", "sums"}, {{"n"}}}};
  std::vector<Step>& steps = manifest.schedules[0].steps;
  steps = {meet};
  for (int offset = 0; offset < 3; ++offset) {
    steps.push_back(
        {0,
         CopyStep{
             .from = "input", .to = "output", .to_block = BlockIndex::rank, .peer_offset = offset, .shape = {{"n"}}}});
  }
  steps.push_back(meet);
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    Own own(context, 8192);
    context.as_symmetric(own.begin + 128, 4096);
    Operation gather(context, built, of_n(n));
    auto* on_heap = static_cast<int*>(context.allocate(bytes));
    for (int* input : {own.at(256), on_heap}) {
      int* const output = own.at(1024);
      fill(context, input, 7);
      std::fill_n(output, 3 * n, -1);
      context.barrier();
      gather.launch({input, output}, of_n(n));
      context.barrier();
      for (int rank = 0; rank < 3; ++rank) {
        for (int i = 0; i < n; ++i) ASSERT_EQ(output[rank * n + i], (rank + 1) * (i * i + 7)) << rank << " " << i;
      }
    }
  });
}

}  // namespace
}  // namespace iris::adopted_memory_test
