// Groups that run compiled kernels, on the CPU and on this machine's GPUs, several ranks to a GPU where there are fewer
// than four. What this machine has not is skipped.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "grid_of_ranks.hpp"
#include "iris/cache.hpp"
#include "iris/compiler.hpp"
#include "iris/jit.hpp"
#include "iris/world.hpp"
#include "processes.hpp"

namespace iris {
namespace {

using test::error_of;
using test::expect_part;

BuiltOperation build(const std::string& pattern, const std::string& variant, int world, const std::string& target,
                     int timeout_ms = 10'000) {
  static Cache cache{std::filesystem::path(IRISGEN_TEST_CACHE)};
  // Few blocks, so that those of all ranks of a GPU find room together.
  const std::string text =
      "irisgen: 1\nkernels:\n  - {name: " + pattern + ", pattern: " + pattern + ", variant: " + variant +
      ", dtype: i32, world: " + std::to_string(world) +
      ", shape: {n: dynamic}, config: {blocks: 3, threads: 64, timeout_ms: " + std::to_string(timeout_ms) + "}}\n";
  const irisgen::Spec spec = irisgen::parse_spec("sample.yaml", text);
  return build_operation(irisgen::make_plan(spec.kernels.front(), world, *irisgen::find_target(target)), {}, cache);
}

BuiltOperation build_sum(int world, const std::string& target, int timeout_ms = 10'000) {
  return build("all_reduce", "one_shot", world, target, timeout_ms);
}

class GroupsOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool is_host = std::string(GetParam()) == "host";
    const DeviceSurvey survey = is_host ? DeviceSurvey() : survey_gpus();
    if (!is_host && survey.gpus.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
    target_ = is_host ? "host" : survey.gpus.front().target;
    gpus_ = static_cast<int>(survey.gpus.size());
    const std::string missing = error_of([&] {
      (void)Compilers::instance().find(*irisgen::find_target(target_));
      const World world({.size = 1, .target = target_, .heap_bytes = 256});
    });
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  World world(int size, std::uint64_t seed = 0) const {
    return World({.size = size, .target = target_, .heap_bytes = 8U << 20U, .seed = seed});
  }

  std::string target_;
  int gpus_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Targets, GroupsOn, testing::Values("host", "gpu"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GroupsOn, RowsAndColumnsTakeTurns) {
  const BuiltOperation sum = build_sum(2, target_);
  const BuiltOperation gather = build("all_gather", "direct", 2, target_);
  World ranks = world(4);
  ranks.run([&](Context& context) { EXPECT_EQ(test::rows_and_columns(context, sum, gather, 100), ""); });
}

/// A sum over a group again and again, in a stream of its own.
class Sums {
 public:
  static constexpr std::int64_t n = 1000;
  static constexpr std::size_t bytes = n * sizeof(std::int32_t);

  Sums(Context& context, Group group, const BuiltOperation& built)
      : context_(context),
        group_(std::move(group)),
        sum_(group_, built, {{"n", n}}),
        stream_(context.device().create_stream()),
        input_(group_.allocate(bytes)),
        output_(group_.allocate(bytes)) {}
  ~Sums() { context_.device().destroy_stream(stream_); }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  void launch(int round) {
    std::vector<std::int32_t> values(n);
    for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = value(context_.rank(), round, i);
    context_.device().copy(input_, values.data(), bytes, stream_);
    context_.device().fill(output_, 0xa5, bytes, stream_);
    sum_.launch({input_, output_}, {{"n", n}}, stream_);
  }
  int count_wrong(int round) {
    group_.synchronize(stream_);
    std::vector<std::int32_t> values(n);
    context_.device().copy(values.data(), output_, bytes, stream_);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t sum = 0;
      for (const int member : group_.ranks()) sum += value(member, round, i);
      wrong += values[static_cast<std::size_t>(i)] != sum ? 1 : 0;
    }
    group_.barrier(stream_);
    return wrong;
  }

 private:
  static std::int32_t value(int rank, int round, std::int64_t i) {
    return static_cast<std::int32_t>((rank + 1) * (i * i % 1000 + 1) + 10'000 * round);
  }

  Context& context_;
  Group group_;
  Operation sum_;
  Stream stream_;
  void* input_;
  void* output_;
};

/// Rank 2 has two kernels under way that wait for others.
TEST_P(GroupsOn, OverlappingGroupsRunAtOnce) {
  const BuiltOperation of_three = build_sum(3, target_);
  const BuiltOperation of_two = build_sum(2, target_);
  World ranks = world(4);
  ranks.run([&](Context& context) {
    std::vector<std::unique_ptr<Sums>> sums;
    if (context.rank() < 3) sums.push_back(std::make_unique<Sums>(context, context.group({2, 0, 1}), of_three));
    if (context.rank() >= 2) sums.push_back(std::make_unique<Sums>(context, context.group({3, 2}), of_two));
    context.barrier();
    for (int round = 0; round < 50; ++round) {
      for (auto& sum : sums) sum->launch(round);
      for (auto& sum : sums) EXPECT_EQ(sum->count_wrong(round), 0) << "round " << round;
    }
  });
}

TEST_P(GroupsOn, AFaultNamesRanksOfTheWorld) {
  const BuiltOperation sum = build_sum(2, target_, 300);
  World ranks = world(4);
  ranks.run([&](Context& context) {
    if (context.rank() % 2 == 0) return;
    Group group = context.group({3, 1});
    Operation operation(group, sum, {{"n", 64}});
    void* const input = group.allocate(256);
    void* const output = group.allocate(256);
    if (context.rank() == 3) {
      operation.launch({input, output}, {{"n", 64}});
      const std::string words = error_of([&] { group.synchronize(); });
      expect_part(words, "all_reduce in group {3, 1}");
      expect_part(words, "rank 3, block");
      expect_part(words, " for rank 1 to ");
    }
    group.barrier();
  });
}

TEST_P(GroupsOn, ADeviceBarrierThatARankDoesNotComeToNamesIt) {
  World ranks = world(3);
  ranks.run([&](Context& context) {
    if (context.rank() == 0) return;
    Group group = context.group({2, 1});
    Operation barrier = device_barrier(group, 300);
    if (context.rank() == 2) {
      barrier.launch({});
      const std::string words = error_of([&] { group.synchronize(); });
      expect_part(words, "device_barrier in group {2, 1}");
      expect_part(words, " for rank 1 to come to the barrier");
    }
    group.barrier();
  });
}

/// Each member sends something else to the next in every round, by a copy, and keeps what it has received.
class Relay {
 public:
  static constexpr int rounds = 8;
  static constexpr std::size_t count = 50'000;
  static constexpr std::size_t bytes = count * sizeof(std::int32_t);

  explicit Relay(Group& group)
      : group_(group),
        sent_(static_cast<char*>(group.allocate(rounds * bytes))),
        inbox_(static_cast<char*>(group.allocate(bytes))),
        kept_(static_cast<char*>(group.allocate(rounds * bytes))) {
    std::vector<std::int32_t> values(count);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < count; ++i) values[i] = value(group.rank(), round, i);
      group.device().copy(sent_ + round * bytes, values.data(), bytes);
    }
    forget();
  }

  void forget() { group_.device().fill(kept_, 0xa5, rounds * bytes); }

  /// Where `barrier` is null nothing holds anybody back.
  void enqueue(Operation* barrier, Stream stream) {
    const int next = (group_.rank() + 1) % group_.num_ranks();
    for (std::size_t round = 0; round < rounds; ++round) {
      group_.device().enqueue_copy(group_.on_rank(inbox_, next), sent_ + round * bytes, bytes, stream);
      if (barrier != nullptr) barrier->launch({}, {}, stream);
      group_.device().enqueue_copy(kept_ + round * bytes, inbox_, bytes, stream);
      if (barrier != nullptr) barrier->launch({}, {}, stream);
    }
  }

  int count_wrong() {
    const int previous = (group_.rank() + group_.num_ranks() - 1) % group_.num_ranks();
    std::vector<std::int32_t> values(count);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      group_.device().copy(values.data(), kept_ + round * bytes, bytes);
      for (std::size_t i = 0; i < count; ++i) wrong += values[i] != value(previous, round, i) ? 1 : 0;
    }
    return wrong;
  }

 private:
  static std::int32_t value(int rank, int round, std::size_t i) {
    return static_cast<std::int32_t>(1'000'000 * (rank + 1) + 100'000 * round + static_cast<int>(i));
  }

  Group& group_;
  char* sent_;
  char* inbox_;
  char* kept_;
};

TEST_P(GroupsOn, ADeviceBarrierHoldsEveryMemberBack) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    World ranks = world(4, seed);
    std::atomic<int> wrong_without = 0;
    ranks.run([&](Context& context) {
      if (context.rank() == 2) return;
      Group group = context.group({3, 0, 1});
      Operation barrier = device_barrier(group);
      const Stream stream = group.device().create_stream();
      Relay relay(group);
      for (int repeat = 0; repeat < 5; ++repeat) {
        relay.forget();
        group.barrier();
        relay.enqueue(&barrier, stream);
        group.barrier(stream);
        EXPECT_EQ(relay.count_wrong(), 0) << "seed " << seed;
      }
      relay.forget();
      group.barrier();
      relay.enqueue(nullptr, stream);
      group.barrier(stream);
      wrong_without += relay.count_wrong();
      group.device().destroy_stream(stream);
    });
    if (target_ != "host") continue;  // where nothing says that they would not be in time
    EXPECT_GT(wrong_without, 0) << "it is not the barrier that holds them back";
  }
}

/// As many ranks as there are GPUs: those that share one cannot capture copies.
TEST_P(GroupsOn, AGraphCapturesADeviceBarrier) {
  if (gpus_ < 2) GTEST_SKIP() << "needs two GPUs";
  World ranks = world(gpus_);
  ranks.run([&](Context& context) {
    std::vector<int> reversed;
    for (int rank = gpus_ - 1; rank >= 0; --rank) reversed.push_back(rank);
    Group group = context.group(reversed);
    Operation barrier = device_barrier(group);
    const Stream stream = group.device().create_stream();
    Relay relay(group);
    group.barrier();
    relay.enqueue(&barrier, stream);  // a copy's first use of a stream is no part of a graph
    group.barrier(stream);
    group.device().begin_capture(stream);
    relay.enqueue(&barrier, stream);
    const Graph graph = group.device().end_capture(stream);
    for (int repeat = 0; repeat < 100; ++repeat) {
      relay.forget();
      group.barrier();
      for (int replay = 0; replay < 5; ++replay) group.device().launch_graph(graph, stream);
      group.barrier(stream);
      EXPECT_EQ(relay.count_wrong(), 0) << "repeat " << repeat;
    }
    group.device().destroy_graph(graph);
    group.device().destroy_stream(stream);
  });
}

/// In a program of its own: processes that fork() makes cannot use a GPU that their parent has used. Where two of them
/// share one, their kernels take turns.
TEST(GroupsOfProcesses, RowsAndColumnsTakeTurnsOnGpus) {
  const auto outcomes = test::run_ranks(4, [](int) {
    const DeviceSurvey survey = survey_gpus();
    if (survey.gpus.empty()) return std::string("skipped: ") + survey.missing;
    const std::string target = survey.gpus.front().target;
    World world = World::join({.target = target, .heap_bytes = 8U << 20U});
    std::string said;
    world.run([&](Context& context) {
      said = test::rows_and_columns(context, build_sum(2, target), build("all_gather", "direct", 2, target), 20);
    });
    return said;
  });
  for (const test::ProcessOutcome& outcome : outcomes) {
    if (outcome.said.starts_with("skipped: ")) GTEST_SKIP() << outcome.said;
    EXPECT_EQ(outcome.said, "");
  }
}

}  // namespace
}  // namespace iris
