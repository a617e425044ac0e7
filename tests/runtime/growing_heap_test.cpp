// Symmetric heaps that grow and give back, on the CPU: among threads and among processes.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "runtime/world/context.hpp"
#include "runtime/world/group.hpp"
#include "sanitizers.hpp"

namespace iris {
namespace {

using test::error_of;
using test::expect_all_say;
using test::expect_part;
using test::host_operation;
using test::ProcessOutcome;
using test::run_ranks;

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t first = 4096;
constexpr std::size_t limit = 64 * MiB;

std::size_t mapped(const Context& context) {
  return context.state().context.memory.mapped();
}

std::ptrdiff_t offset_of(const Context& context, const void* memory) {
  return static_cast<const char*>(memory) - context.heap_bases()[static_cast<std::size_t>(context.rank())];
}

/// Of this process's addresses from here on, those that can be written; from /proc/self/maps.
std::size_t writable_bytes(const char* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  std::ifstream maps("/proc/self/maps");
  std::size_t writable = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    char dash = 0;
    std::string permissions;
    text >> std::hex >> low >> dash >> high >> permissions;
    low = std::max(low, from);
    high = std::min(high, from + bytes);
    if (low < high && permissions.starts_with("rw")) writable += high - low;
  }
  return writable;
}

std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

std::uint32_t value(int rank, std::size_t i) {
  return static_cast<std::uint32_t>(rank + 1) * 2654435761U + static_cast<std::uint32_t>(i * i);
}

void write(void* memory, std::size_t bytes, int rank) {
  auto* const values = static_cast<std::uint32_t*>(memory);
  for (std::size_t i = 0; i < bytes / 4; ++i) values[i] = value(rank, i);
}

std::size_t wrong_values(const void* memory, std::size_t bytes, int rank) {
  const auto* const values = static_cast<const std::uint32_t*>(memory);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes / 4; ++i) wrong += values[i] != value(rank, i) ? 1U : 0U;
  return wrong;
}

/// Every member has written its own; each looks at all.
std::size_t wrong_on_peers(Group& group, void* memory, std::size_t bytes) {
  write(memory, bytes, group.ranks()[static_cast<std::size_t>(group.rank())]);
  group.barrier();
  std::size_t wrong = 0;
  for (int peer = 0; peer < group.num_ranks(); ++peer) {
    wrong += wrong_values(group.on_rank(memory, peer), bytes, group.ranks()[static_cast<std::size_t>(peer)]);
  }
  group.barrier();
  return wrong;
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

TEST(GrowingHeap, TakesNoFileThatIsShorterThanItIsSaidToBe) {
  const DeviceGroup group = open_host_device({.rank = 0, .size = 1, .absence = {}}, 0);
  const RangeOptions options{.bytes = MiB, .among_processes = true};
  const auto own = group.devices[0]->reserve(options);
  const auto peers = group.devices[0]->reserve(options);
  own->add(8192);
  own->add(4096);
  const Descriptor file(own->export_piece(1));
  expect_part(error_of([&] { peers->add_imported(file.get(), 8192); }), "a file of fewer than 8192 bytes");
  peers->add_imported(file.get(), 4096);
  own->begin()[8192] = 'x';
  EXPECT_EQ(*peers->begin(), 'x');
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

World join() {
  return World::join({.heap_bytes = first, .heap_limit = limit});
}

/// What each rank's body counts as wrong.
std::vector<ProcessOutcome> wrong_of(int size, const std::function<std::size_t(Context&)>& body) {
  return run_ranks(size, [&](int) {
    World world = join();
    std::size_t wrong = 0;
    world.run([&](Context& context) { wrong = body(context); });
    return std::to_string(wrong) + " wrong";
  });
}

TEST(GrowingProcessHeap, EveryRankAddressesWhatHasGrown) {
  expect_all_say(wrong_of(3,
                          [](Context& context) {
                            const std::vector<char*> bases(context.heap_bases().begin(), context.heap_bases().end());
                            std::size_t wrong = 0;
                            for (std::size_t round = 1; round <= 8; ++round) {
                              const std::size_t bytes = round * MiB + 4 * round;
                              wrong += wrong_on_peers(context, context.allocate(bytes), bytes);
                            }
                            for (std::size_t rank = 0; rank < bases.size(); ++rank) {
                              wrong += writable_bytes(bases[rank], limit) != mapped(context) ? 1U : 0U;
                            }
                            return wrong + (std::ranges::equal(bases, context.heap_bases()) ? 0U : 1U);
                          }),
                 "0 wrong");
}

/// What a group has made grow is mapped by a later group's members when they need it, from several ranks with heaps of
/// several lengths.
TEST(GrowingProcessHeap, GroupsMapWhatTheyNeed) {
  expect_all_say(wrong_of(4,
                          [](Context& context) {
                            const int rank = context.rank();
                            std::size_t wrong = 0;
                            const auto in_group = [&](const std::vector<int>& ranks, std::size_t bytes) {
                              if (std::ranges::find(ranks, rank) == ranks.end()) return;
                              Group group = context.group(ranks);
                              wrong += wrong_on_peers(group, group.allocate(bytes), bytes);
                            };
                            in_group({1, 0}, 3 * MiB);
                            in_group({3}, 7 * MiB);
                            in_group({1, 2}, 2 * MiB);
                            in_group({0, 2}, 9 * MiB);
                            in_group({3, 0, 1}, MiB);
                            in_group({2, 3, 1, 0}, 5 * MiB);
                            if (rank == 3) context.group({3}).allocate(20 * MiB);
                            void* memory = context.allocate(64);
                            return wrong + wrong_on_peers(context, memory, 64);
                          }),
                 "0 wrong");
}

TEST(GrowingProcessHeap, KernelsUseWhatHasGrown) {
  expect_all_say(wrong_of(3,
                          [](Context& context) {
                            constexpr std::int64_t n = 700'000;
                            Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
                            auto* input = static_cast<std::int32_t*>(context.allocate(n * 4));
                            auto* output = static_cast<std::int32_t*>(context.allocate(n * 4));
                            for (std::int32_t i = 0; i < n; ++i) input[i] = (context.rank() + 2) * (i % 977);
                            context.barrier();
                            sum.launch({input, output}, {{"n", n}});
                            context.barrier();
                            std::size_t wrong = 0;
                            for (std::int32_t i = 0; i < n; ++i) wrong += output[i] != 9 * (i % 977) ? 1U : 0U;
                            return wrong;
                          }),
                 "0 wrong");
}

/// The owner's pages are gone only when nobody maps them any more.
TEST(GrowingProcessHeap, GivesBackOnEveryRank) {
  expect_all_say(wrong_of(3,
                          [](Context& context) {
                            std::size_t wrong = 0;
                            for (int round = 0; round < 5; ++round) {
                              void* memory = context.allocate(10 * MiB);
                              wrong += wrong_on_peers(context, memory, 10 * MiB);
                              context.free(memory);
                              wrong += context.trim() == 10 * MiB - first ? 0U : 1U;
                              context.barrier();
                              for (char* base : context.heap_bases()) {
                                wrong += writable_bytes(base, limit) != first ? 1U : 0U;
                              }
                            }
                            return wrong;
                          }),
                 "0 wrong");
}

TEST(GrowingProcessHeap, LeavesNothingBehindAfterAThousandGrowths) {
  expect_all_say(wrong_of(2,
                          [](Context& context) {
                            std::size_t files = 0;
                            std::size_t maps = 0;
                            for (int round = 0; round < 1010; ++round) {
                              void* memory = context.allocate(4 * MiB);
                              *static_cast<char*>(memory) = 'x';
                              context.free(memory);
                              context.trim();
                              if (round != 9) continue;
                              files = open_files();
                              maps = mappings();
                            }
                            return (open_files() == files ? 0U : 1U) + (mappings() < maps + 100 ? 0U : 1U);
                          }),
                 "0 wrong");
}

/// A rank that may make no files so large: all fail alike, and all is as it was.
TEST(GrowingProcessHeap, FailsAlikeWhereOneRankCannotMap) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = join();
    std::string said;
    world.run([&](Context& context) {
      void* before = context.allocate(2000);
      const std::size_t files = open_files();
      rlimit files_limit{};
      ::getrlimit(RLIMIT_FSIZE, &files_limit);
      const rlimit as_before = files_limit;
      if (number == 1) {
        ::signal(SIGXFSZ, SIG_IGN);
        files_limit.rlim_cur = MiB;
        ::setrlimit(RLIMIT_FSIZE, &files_limit);
      }
      said = error_of([&] { context.allocate(5 * MiB); });
      if (mapped(context) != first || open_files() != files) said += ", and leaves something";
      for (char* base : context.heap_bases()) {
        if (writable_bytes(base, limit) != first) said += ", and maps something";
      }
      ::setrlimit(RLIMIT_FSIZE, &as_before);
      if (wrong_on_peers(context, before, 2000) > 0) said += ", and loses something";
      if (wrong_on_peers(context, context.allocate(5 * MiB), 5 * MiB) > 0) said += ", and does not grow again";
    });
    return said;
  });
  expect_all_say(
      outcomes,
      "allocate(5242880 bytes) cannot be done on rank 1: the symmetric heap cannot grow from 4096 to 5244928 "
      "bytes: rank 1 cannot make 5242880 bytes of memory to share on host: File too large");
}

TEST(GrowingProcessHeap, RanksAgreeOnItsLimit) {
  const auto outcomes = run_ranks(2, [](int number) {
    World::join({.heap_bytes = first, .heap_limit = number == 0 ? limit : 2 * limit});
    return std::string();
  });
  for (const ProcessOutcome& outcome : outcomes) {
    expect_part(outcome.said,
                "rank 0: World::join(host, heap of 4096 bytes, at most 67108864); rank 1: "
                "World::join(host, heap of 4096 bytes, at most 134217728)");
  }
}

/// When a process ends: before the exchange of this number, of a call that is named, or after it.
struct End {
  int exchange;
  bool after;
};

class DyingBootstrap final : public Bootstrap {
 public:
  DyingBootstrap(std::string call, const End& end) : call_(std::move(call)), end_(end) {}

  int rank() const override { return others_->rank(); }
  int size() const override { return others_->size(); }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    const bool ends = call == call_ && end_.exchange-- == 0;
    if (ends && !end_.after) ::kill(::getpid(), SIGKILL);
    std::vector<std::string> gathered = others_->all_gather(bytes, call);
    if (ends) ::kill(::getpid(), SIGKILL);
    return gathered;
  }
  std::shared_ptr<Bootstrap> split(const Subset& subset) override { return others_->split(subset); }
  void post(const std::string& notice) override { others_->post(notice); }
  std::string notice(int rank) const override { return others_->notice(rank); }
  std::string lost(int rank) const override { return others_->lost(rank); }

 private:
  std::shared_ptr<Bootstrap> others_ = connect_processes();
  std::string call_;
  End end_;
};

/// The exchanges of an allocation that grows: what is free, what has grown, where files are to be handed to, and
/// whether all have mapped them.
class GrowingProcessHeapDeath : public testing::TestWithParam<End> {};
INSTANTIATE_TEST_SUITE_P(Exchanges, GrowingProcessHeapDeath,
                         testing::Values(End{0, false}, End{1, false}, End{2, false}, End{2, true}, End{3, false}),
                         [](const auto& info) {
                           return (info.param.after ? "After" : "Before") + std::to_string(info.param.exchange);
                         });

TEST_P(GrowingProcessHeapDeath, OthersAreToldAndGoOnInAGroup) {
  const std::string call = "allocate(5242880 bytes)";
  const auto outcomes = run_ranks(3, [&](int number) {
    const auto bootstrap =
        number == 2 ? std::make_shared<DyingBootstrap>(call, GetParam()) : std::shared_ptr<Bootstrap>();
    World world = World::join({.heap_bytes = first, .heap_limit = limit}, bootstrap);
    std::string said;
    try {
      world.run([&](Context& context) {
        Group pair = context.group(number == 2 ? std::vector{2} : std::vector{0, 1});
        const auto began = std::chrono::steady_clock::now();
        said = error_of([&] { context.allocate(5 * MiB); });
        const auto waited = std::chrono::steady_clock::now() - began;
        if (waited > std::chrono::seconds(10)) said += " |late";
        if (mapped(context) != first) said += " |mapped";
        for (int round = 0; round < 3; ++round) {
          void* memory = pair.allocate(6 * MiB);
          if (wrong_on_peers(pair, memory, 6 * MiB) > 0) said += " |wrong";
        }
      });
    } catch (const std::exception& error) {
      said += std::string(" |run: ") + error.what();
    }
    return said;
  });
  EXPECT_EQ(outcomes[2].code, 128 + SIGKILL);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    expect_part(outcomes[rank].said, call);
    expect_part(outcomes[rank].said, "rank 2 (process ");
    for (const char* wrong : {"|late", "|mapped", "|wrong"}) {
      EXPECT_EQ(outcomes[rank].said.find(wrong), std::string::npos) << outcomes[rank].said;
    }
  }
}

}  // namespace
}  // namespace iris
