// Operations of several steps: kernels one after another, copies and waits among streams, schedules by size.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/launch/bound_steps.hpp"

namespace iris::steps_test {
namespace {

using test::host_operation;
using test::of_n;

/// Runs an operation of three ranks on n elements; each rank's output, for input[i] = 1000 · rank + i · i.
std::vector<std::vector<int>> outputs_of(const BuiltOperation& built, std::int64_t n, std::uint64_t seed,
                                         int launches = 1) {
  World world({.size = 3, .heap_bytes = 1 << 20, .seed = seed});
  std::vector<std::vector<int>> outputs(3);
  world.run([&](Context& context) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(int);
    void* input = context.allocate(bytes);
    void* output = context.allocate(3 * bytes);
    std::vector<int> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * context.rank() + static_cast<int>(i * i);
    context.device().copy(input, values.data(), bytes);
    context.device().fill(output, 0xa5, 3 * bytes);
    Operation operation(context, built, of_n(n));
    context.barrier();
    for (int launch = 0; launch < launches; ++launch) operation.launch(std::array{input, output}, of_n(n));
    context.barrier();
    auto& mine = outputs[static_cast<std::size_t>(context.rank())];
    mine.resize(3 * values.size());
    context.device().copy(mine.data(), output, 3 * bytes);
  });
  return outputs;
}

/// add_index twice: from the input to a buffer between, and from there to the output.
BuiltOperation add_index_twice() {
  BuiltOperation built = host_operation("add_index", 3);
  Manifest& manifest = built.manifest;
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].part = "again";
  built.code.push_back(built.code[0]);
  manifest.intermediates = {{.name = "between", .dtype = Dtype::i32, .shape = {{"n"}}}};
  manifest.schedules[0].steps = {{0, LaunchStep{0, {"input", "between"}, {{"n"}}}},
                                 {0, LaunchStep{1, {"between", "output"}, {{"n"}}}}};
  return built;
}

/// Of 300 rows on four ranks each has 75: a box of 64, and 11 left, which take 16.
TEST(Steps, MapRowsInBoxesAndThoseThatTheyLeave) {
  MatrixMap map = {
      .buffer = "a", .dtype = Dtype::bf16, .rows = {"m", 1, 4}, .columns = {"k"}, .box_rows = 64, .box_columns = 32};
  const MatrixLayout whole = matrix_layout(map, {{"m", 300}, {"k", 520}});
  EXPECT_EQ(whole.element_bytes, 2);
  EXPECT_EQ(whole.rows, 75);
  EXPECT_EQ(whole.columns, 520);
  EXPECT_EQ(whole.box_rows, 64);
  EXPECT_EQ(whole.box_columns, 32);
  map.rows = {"m"};
  map.last_of = Dimension{"m", 1, 4};
  const auto left = [&](std::int64_t m) { return matrix_layout(map, {{"m", m}, {"k", 520}}); };
  EXPECT_EQ(left(300).box_rows, 16);
  EXPECT_EQ(left(300).rows, 300);
  EXPECT_EQ(left(256).box_rows, 64) << "no row is left";
  EXPECT_EQ(left(4).box_rows, 8);
}

TEST(Steps, PassABufferFromKernelToKernel) {
  for (const auto& output : outputs_of(add_index_twice(), 100, 0)) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(output[static_cast<std::size_t>(i)] % 1000, (i * i + 2 * i) % 1000);
  }
}

TEST(Steps, OfADivisibleExtentLaunchPartOfIt) {
  BuiltOperation built = host_operation("add_index", 3);
  std::get<LaunchStep>(built.manifest.schedules[0].steps[0].action).extents = {{"n", 1, 4}};
  const auto outputs = outputs_of(built, 100, 0);
  EXPECT_EQ(outputs[1][24], 1000 + 24 * 24 + 24);
  EXPECT_EQ(outputs[1][25], static_cast<int>(0xa5a5a5a5));
}

/// add_index's second block takes elements 32 to 63: who asks for a single one misses them.
TEST(Steps, LaunchNoMoreBlocksThanThereAreTiles) {
  BuiltOperation built = host_operation("add_index", 3);
  built.manifest.kernels[0].waits = false;
  auto& launch = std::get<LaunchStep>(built.manifest.schedules[0].steps[0].action);
  const auto last_of_40 = [&](std::int64_t tile_rows, std::int64_t tile_columns) {
    launch.tiles = {{"n"}, {"n", 2}, tile_rows, tile_columns};
    return outputs_of(built, 40, 0)[0][39];
  };
  constexpr int missed = static_cast<int>(0xa5a5a5a5);
  EXPECT_EQ(last_of_40(40, 80), missed);
  EXPECT_EQ(last_of_40(39, 80), 39 * 39 + 39);
  EXPECT_EQ(last_of_40(40, 79), 39 * 39 + 39);
  EXPECT_EQ(last_of_40(1, 1), 39 * 39 + 39);
  launch.tiles = std::nullopt;
  EXPECT_EQ(outputs_of(built, 40, 0)[0][39], 39 * 39 + 39);
}

/// An all-gather of copies: between two barriers of all ranks each copies to its block on the others, its own copy on
/// another stream.
BuiltOperation gather_by_copies() {
  BuiltOperation built = host_operation("sum_of_three", 3);  // barriers, as it were
  Manifest& manifest = built.manifest;
  manifest.in_place = InPlace::no;
  manifest.arguments[1].shape = {{"n", 3}};
  manifest.intermediates = {{.name = "sums", .dtype = Dtype::i32, .shape = {{"n"}}}};
  const Step meet = {0, LaunchStep{0, {"input", "sums"}, {{"n"}}}};
  const auto copy_to = [](int peer_offset) {
    return CopyStep{
        .from = "input", .to = "output", .to_block = BlockIndex::rank, .peer_offset = peer_offset, .shape = {{"n"}}};
  };
  manifest.schedules[0].steps = {
      meet, {1, WaitStep{0}}, {1, copy_to(0)}, {0, copy_to(1)}, {0, copy_to(2)}, {0, WaitStep{1}}, meet};
  return built;
}

TEST(Steps, CopyBlocksToPeersOnStreamsOfTheirOwn) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const auto& output : outputs_of(gather_by_copies(), 50, seed, 2)) {
      for (int rank = 0; rank < 3; ++rank) {
        for (int i = 0; i < 50; ++i) ASSERT_EQ(output[static_cast<std::size_t>(50 * rank + i)], 1000 * rank + i * i);
      }
    }
  }
}

TEST(Steps, CopyAPortionOfABlock) {
  // In granules of 7 rows there are 8, the last of one row: 3 for each portion, the last one's shorter.
  const auto copies_of = [](int number) {
    BuiltOperation built = gather_by_copies();
    for (Step& step : built.manifest.schedules[0].steps) {
      if (auto* copy = std::get_if<CopyStep>(&step.action)) {
        copy->portion = {.number = number, .count = 3, .granule = 7};
      }
    }
    return outputs_of(built, 50, 1);
  };
  const std::array<std::pair<int, int>, 3> rows = {{{0, 21}, {21, 42}, {42, 50}}};
  for (int number = 0; number < 3; ++number) {
    for (const auto& output : copies_of(number)) {
      for (int i = 0; i < 150; ++i) {
        const auto [first, end] = rows.at(static_cast<std::size_t>(number));
        const bool copied = i % 50 >= first && i % 50 < end;
        const int expected = copied ? 1000 * (i / 50) + i % 50 * (i % 50) : static_cast<int>(0xa5a5a5a5);
        ASSERT_EQ(output[static_cast<std::size_t>(i)], expected) << "portion " << number << ", element " << i;
      }
    }
  }
}

/// A kernel takes what other ranks' copies bring while it runs: the flags that they give back behind them are those
/// that each rank has sent out in a barrier before.
BuiltOperation take_while_copied() {
  BuiltOperation built = gather_by_copies();
  Manifest& manifest = built.manifest;
  const BuiltOperation taking = host_operation("take_signalled", 3);
  manifest.kernels.push_back(taking.manifest.kernels[0]);
  built.code.push_back(taking.code[0]);
  manifest.intermediates.push_back({.name = "gathered", .dtype = Dtype::i32, .shape = {{"n", 3}}});
  std::vector<Step>& steps = manifest.schedules[0].steps;
  const Step meet = steps.front();
  steps = {meet, {1, WaitStep{0}}, {0, LaunchStep{1, {"gathered", "output"}, {{"n"}}}}};
  for (int offset = 0; offset < 3; ++offset) {
    steps.emplace_back(
        1,
        CopyStep{
            .from = "input", .to = "gathered", .to_block = BlockIndex::rank, .peer_offset = offset, .shape = {{"n"}}});
    if (offset == 0) continue;
    steps.emplace_back(
        1, SignalStep{.from = {0, 0, BlockIndex::peer}, .to = {1, 8, BlockIndex::rank}, .peer_offset = offset});
  }
  steps.emplace_back(0, WaitStep{1});
  return built;
}

TEST(Steps, SignalAKernelThatRuns) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const auto& output : outputs_of(take_while_copied(), 50, seed, 3)) {
      for (int rank = 0; rank < 3; ++rank) {
        for (int i = 0; i < 50; ++i) ASSERT_EQ(output[static_cast<std::size_t>(50 * rank + i)], 1000 * rank + i * i);
      }
    }
  }
}

TEST(Steps, ThatDoNotSignalAreMissed) {
  BuiltOperation built = take_while_copied();
  std::erase_if(built.manifest.schedules[0].steps, [](const Step& step) {
    const auto* signal = std::get_if<SignalStep>(&step.action);
    return signal != nullptr && signal->peer_offset == 2;
  });
  const std::string error = test::error_of([&] { outputs_of(built, 50, 0); });
  EXPECT_NE(error.find("rank 0"), std::string::npos) << error;
}

TEST(Steps, CopyFromTheBlockOfThePeer) {
  BuiltOperation built = gather_by_copies();
  // Rank r sends block p of its input to rank p: of 60 elements, 20 each.
  built.manifest.arguments[1].shape = {{"n"}};
  for (Step& step : built.manifest.schedules[0].steps) {
    if (auto* copy = std::get_if<CopyStep>(&step.action)) {
      copy->from_block = BlockIndex::peer;
      copy->shape = {{"n", 1, 3}};
    }
  }
  const auto outputs = outputs_of(built, 60, 3);
  for (int peer = 0; peer < 3; ++peer) {
    for (int rank = 0; rank < 3; ++rank) {
      for (int i = 0; i < 20; ++i) {
        const int element = 20 * peer + i;
        EXPECT_EQ(outputs[static_cast<std::size_t>(peer)][static_cast<std::size_t>(20 * rank + i)],
                  1000 * rank + element * element);
      }
    }
  }
}

TEST(Schedules, AreChosenByTheSizeOfTheLaunch) {
  BuiltOperation built = add_index_twice();
  built.manifest.schedules = {{.up_to = 10, .steps = {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}},
                              {.up_to = every_size, .steps = built.manifest.schedules[0].steps}};
  EXPECT_EQ(outputs_of(built, 10, 0)[0][5], 25 + 5);
  EXPECT_EQ(outputs_of(built, 11, 0)[0][5], 25 + 2 * 5);
}

}  // namespace
}  // namespace iris::steps_test
