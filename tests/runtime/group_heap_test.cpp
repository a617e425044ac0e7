// The symmetric heap where groups allocate: what a group is given is free on all of its members, and on nobody else's
// account.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "error_words.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"

namespace iris::group_heap_test {
namespace {

using test::error_of;

std::ptrdiff_t offset_of(const Context& context, const void* memory) {
  return static_cast<const char*>(memory) - context.heap_bases()[static_cast<std::size_t>(context.rank())];
}

/// Rank 1 is in both groups, and holds the one's block where the other's would be first.
TEST(GroupHeap, GivesMembersThatHoldOtherThingsOneOffset) {
  World world({.size = 3, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    const int rank = context.rank();
    if (rank < 2) {
      Group left = context.group({0, 1});
      EXPECT_EQ(offset_of(context, left.allocate(700)), 0);
    }
    if (rank > 0) {
      Group right = context.group({1, 2});
      EXPECT_EQ(offset_of(context, right.allocate(100)), 768);
    }
    if (rank != 1) {
      Group outer = context.group({2, 0});
      EXPECT_EQ(offset_of(context, outer.allocate(256)), 1024) << "0 holds 0-767, 2 holds 768-1023";
    }
    EXPECT_EQ(offset_of(context, context.allocate(16)), 1280);
  });
}

TEST(GroupHeap, FreesForTheGroupThatHasAllocated) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    Group group = context.group({1, 0});
    Group same = context.group({0, 1});
    Group other = context.group({context.rank()});
    void* memory = group.allocate(256);
    const std::string who = "rank " + std::to_string(context.rank());
    EXPECT_EQ(error_of([&] { context.free(memory); }),
              who + " frees memory that allocate() did not return, or that is free already");
    EXPECT_EQ(error_of([&] { other.free(memory); }), who + " frees memory that allocate() in group {" +
                                                         std::to_string(context.rank()) +
                                                         "} did not return, or that is free already");
    same.free(memory);
    EXPECT_NE(error_of([&] { group.free(memory); }), "");
  });
}

/// Rank 0 has freed what rank 1 still uses: rank 0 is not given it again before both have met.
TEST(GroupHeap, ReusesMemoryOnlyOnceAllMembersHaveFreedIt) {
  World world({.size = 3, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    const int rank = context.rank();
    if (rank == 2) {
      Group right = context.group({0, 2});
      EXPECT_EQ(offset_of(context, right.allocate(256)), 256);
      right.barrier();
      EXPECT_EQ(offset_of(context, right.allocate(256)), 0);
      return;
    }
    Group left = context.group({0, 1});
    void* memory = left.allocate(256);
    if (rank == 1) {
      left.free(memory);
      left.barrier();
      return;
    }
    left.free(memory);
    Group right = context.group({0, 2});
    EXPECT_EQ(offset_of(context, right.allocate(256)), 256);
    left.barrier();
    right.barrier();
    EXPECT_EQ(offset_of(context, right.allocate(256)), 0);
  });
}

/// A barrier that one member comes to before it frees proves nothing.
TEST(GroupHeap, KeepsMemoryThatABarrierDoesNotShowToBeFreed) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    Group both = context.group({0, 1});
    Group alone = context.group({context.rank()});
    void* memory = both.allocate(256);
    if (context.rank() == 0) both.free(memory);
    both.barrier();
    EXPECT_EQ(offset_of(context, alone.allocate(256)), 256);
    if (context.rank() == 1) both.free(memory);
    both.barrier();
    EXPECT_EQ(offset_of(context, alone.allocate(256)), 0);
  });
}

/// What a group that is gone has freed is its successor's, of the same ranks in whatever order.
TEST(GroupHeap, ReusesWhatAGroupOfTheSameRanksHasFreed) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    for (int round = 0; round < 20; ++round) {
      Group pair = context.group(round % 2 == 0 ? std::vector{0, 1} : std::vector{1, 0});
      pair.free(pair.allocate(3000));
    }
  });
}

TEST(GroupHeap, SaysWhatIsFreeWhere) {
  World world({.size = 3, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    const int rank = context.rank();
    if (rank == 2) return;
    Group alone = context.group({rank});
    Group both = context.group({1, 0});
    if (rank == 0) alone.allocate(1024);
    void* freed = alone.allocate(512);
    alone.free(freed);
    const std::string error = error_of([&] { both.allocate(3584); });
    EXPECT_EQ(error,
              "allocate(3584 bytes) in group {1, 0} does not fit on the symmetric heap: of 4096 bytes on each rank, "
              "2560 are free at the same offsets of all members, 2560 of them in one block (free on rank 1: 3584, on "
              "rank 0: 2560); 512 more that rank " +
                  std::to_string(rank) +
                  " has freed are reused after a barrier() of the groups that had allocated them; raise "
                  "WorldOptions::heap_limit or free something");
  });
}

/// What all ranks do, each what concerns it: one order for all.
struct Event {
  enum class Kind { allocate, free, barrier };
  Kind kind;
  std::size_t group;
  std::size_t allocation = 0;  ///< counted from 0
  std::size_t bytes = 0;
};

constexpr int size = 5;
constexpr std::size_t heap_bytes = 256 << 10;

struct Scenario {
  std::vector<std::vector<int>> groups;
  std::vector<Event> events;
  std::size_t allocations = 0;
};

Scenario make_scenario(unsigned seed) {
  std::mt19937 random(seed);
  Scenario scenario;
  scenario.groups.push_back({0, 1, 2, 3, 4});  // the world itself
  for (int i = 0; i < 6; ++i) {
    std::vector<int> ranks = {0, 1, 2, 3, 4};
    std::shuffle(ranks.begin(), ranks.end(), random);
    ranks.resize(1 + random() % size);
    scenario.groups.push_back(ranks);
  }
  std::vector<Event> live;
  for (int step = 0; step < 400; ++step) {
    const std::size_t group = random() % scenario.groups.size();
    const unsigned choice = random() % 8;
    if (choice == 0) {
      scenario.events.push_back({Event::Kind::barrier, group});
    } else if (choice < 4 && !live.empty()) {
      const auto victim = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
      scenario.events.push_back({Event::Kind::free, victim->group, victim->allocation});
      live.erase(victim);
    } else if (live.size() < 24) {
      live.push_back({Event::Kind::allocate, group, scenario.allocations++, random() % 3000});
      scenario.events.push_back(live.back());
    }
  }
  for (const Event& event : live) scenario.events.push_back({Event::Kind::free, event.group, event.allocation});
  for (std::size_t group = 0; group < scenario.groups.size(); ++group) {
    scenario.events.push_back({Event::Kind::barrier, group});
  }
  return scenario;
}

/// What is known of an allocation: where it lies on which rank, and how many members have freed it.
struct Known {
  std::size_t members = 0;
  std::array<std::atomic<std::ptrdiff_t>, size> offsets;
  std::atomic<std::size_t> freed = 0;
};

/// One rank's way through a scenario.
class Walk {
 public:
  Walk(Context& context, const Scenario& scenario, std::vector<Known>& known)
      : context_(context), scenario_(scenario), known_(known), delays_(static_cast<unsigned>(context.rank())) {
    groups_.emplace_back(context);
    for (const auto& ranks : std::span(scenario.groups).subspan(1)) {
      const bool mine = std::ranges::find(ranks, context.rank()) != ranks.end();
      groups_.push_back(mine ? std::optional(context.group(ranks)) : std::nullopt);
    }
  }

  void run() {
    for (const Event& event : scenario_.events) {
      if (!groups_[event.group].has_value()) continue;
      if (delays_() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays_() % 200));
      Group& group = *groups_[event.group];
      if (event.kind == Event::Kind::barrier) group.barrier();
      if (event.kind == Event::Kind::allocate) allocate(group, event);
      if (event.kind == Event::Kind::free) {
        Known& known = known_[event.allocation];
        ++known.freed;
        group.free(memory_.at(event.allocation));
      }
    }
    EXPECT_EQ(offset_of(context_, context_.allocate(heap_bytes)), 0) << "something was lost";
  }

 private:
  void allocate(Group& group, const Event& event) {
    void* const memory = group.allocate(event.bytes);
    const auto offset = offset_of(context_, memory);
    memory_[event.allocation] = memory;
    const auto bytes = static_cast<std::ptrdiff_t>(std::max<std::size_t>(event.bytes, 1));
    EXPECT_EQ(offset % 256, 0);
    EXPECT_LE(offset + bytes, static_cast<std::ptrdiff_t>(heap_bytes));
    for (const auto& [other, range] : held_) {
      const bool overlap = offset < range.second && range.first < offset + bytes;
      if (!overlap) continue;
      EXPECT_EQ(known_[other].freed, known_[other].members)
          << "allocation " << event.allocation << " lies over " << other << ", which a member has not freed";
    }
    held_[event.allocation] = {offset, offset + bytes};
    known_[event.allocation].offsets[static_cast<std::size_t>(context_.rank())] = offset;
  }

  Context& context_;
  const Scenario& scenario_;
  std::vector<Known>& known_;
  std::mt19937 delays_;
  std::vector<std::optional<Group>> groups_;
  std::map<std::size_t, void*> memory_;
  std::map<std::size_t, std::pair<std::ptrdiff_t, std::ptrdiff_t>> held_;  // ever
};

TEST(GroupHeap, NeverGivesWhatAMemberOfAnyGroupStillHas) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Scenario scenario = make_scenario(seed);
    std::vector<Known> known(scenario.allocations);
    for (const Event& event : scenario.events) {
      if (event.kind == Event::Kind::allocate) known[event.allocation].members = scenario.groups[event.group].size();
    }
    World world({.size = size, .heap_bytes = heap_bytes, .heap_limit = heap_bytes});
    EXPECT_EQ(error_of([&] { world.run([&](Context& context) { Walk(context, scenario, known).run(); }); }), "")
        << "seed " << seed;
    for (const Event& event : scenario.events) {
      if (event.kind != Event::Kind::allocate) continue;
      std::set<std::ptrdiff_t> offsets;
      for (const int rank : scenario.groups[event.group]) {
        offsets.insert(known[event.allocation].offsets[static_cast<std::size_t>(rank)]);
      }
      EXPECT_EQ(offsets.size(), 1U) << "seed " << seed << ", allocation " << event.allocation;
    }
  }
}

}  // namespace
}  // namespace iris::group_heap_test
