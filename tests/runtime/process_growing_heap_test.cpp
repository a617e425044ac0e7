// Symmetric heaps that grow and give back, among processes on the CPU.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "growing_heap_samples.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "proc_self.hpp"
#include "processes.hpp"

namespace iris::process_growing_heap_test {
namespace {

using test::error_of;
using test::expect_all_say;
using test::expect_part;
using test::first;
using test::host_operation;
using test::limit;
using test::mapped;
using test::mappings;
using test::MiB;
using test::open_files;
using test::ProcessOutcome;
using test::run_ranks;
using test::writable_bytes;
using test::wrong_on_peers;

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
}  // namespace iris::process_growing_heap_test
