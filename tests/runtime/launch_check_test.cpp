// What a launch is checked for before anything is enqueued, and how an operation's memory is laid out.

#include "runtime/launch/launch_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"

namespace iris::launch_check_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;

Manifest with_dynamic_rows() {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.problem.extents[0].extent = {.dynamic = true};
  return manifest;
}

TEST(LaunchCheck, DemandsThatShapesDivide) {
  Manifest manifest = with_dynamic_rows();
  manifest.arguments[0].shape[0].divisor = 4;
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}}); }),
              "m = 10 must be a multiple of 4, since 'input'");
}

TEST(LaunchCheck, NamesAnExtentThatTheKernelDoesNotHave) {
  const Manifest manifest = with_dynamic_rows();
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}, {"q", 5}}); }), "there is no extent 'q'");
}

TEST(LaunchCheck, RefusesAnExtentThatIsGivenTwice) {
  const Manifest manifest = with_dynamic_rows();
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}, {"m", 11}}); }), "m is given twice");
}

TEST(LaunchCheck, WantsEveryNumberOfAKernelAndNoOther) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.scalars = {{"alpha", ScalarType::f32}, {"steps", ScalarType::i32}};
  const std::vector<ScalarBytes> bytes = resolve_scalars(manifest, {{"steps", 7}, {"alpha", 0.5}});
  ASSERT_EQ(bytes.size(), 2u);
  float alpha = 0;
  std::memcpy(&alpha, bytes[0].bytes.data(), sizeof alpha);
  EXPECT_EQ(alpha, 0.5f);
  std::int32_t steps = 0;
  std::memcpy(&steps, bytes[1].bytes.data(), sizeof steps);
  EXPECT_EQ(steps, 7);
  const auto refused = [&](const Scalars& given) { return error_of([&] { resolve_scalars(manifest, given); }); };
  expect_part(refused({{"alpha", 0.5}}), "'steps' is a number, i32, which every launch must give");
  expect_part(refused({{"alpha", 0.5}, {"steps", 1}, {"beta", 1}}), "there is no number 'beta' in this kernel");
  expect_part(refused({{"alpha", 0.5}, {"steps", 0.5}}), "'steps': 0.5 is no i32; give a whole number");
}

TEST(LaunchCheck, NoticesThatSizesOverflow) {
  Manifest manifest = with_dynamic_rows();
  expect_part(
      error_of([&] { resolve_extents(manifest, {{"m", std::int64_t{1} << 40}, {"n", std::int64_t{1} << 40}}); }),
      "'input' has more than 2^62 bytes");
  manifest.kernels[0].workspace = {{{1 << 20, {"m", "n"}}}};
  expect_part(error_of([&] { layout_of(manifest, {{"m", 1 << 30}, {"n", 1 << 30}}); }), "the workspace");
}

TEST(LaunchCheck, NoticesThatPartsOverflowTogether) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  const auto layout = [&] { layout_of(manifest, {{"m", 1}, {"n", std::int64_t{1} << 59}}); };
  manifest.schedules[0].steps.push_back({0, LaunchStep{0, {"between", "beside"}, {{"n"}}}});
  manifest.intermediates = {{.name = "between", .dtype = Dtype::i32, .shape = {{"n"}}}};
  EXPECT_EQ(error_of(layout), "");
  manifest.intermediates.push_back({.name = "beside", .dtype = Dtype::i32, .shape = {{"n"}}});
  expect_part(error_of(layout),
              "flags, workspace and intermediate buffers for this capacity have more than 2^62 bytes");

  manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].flags = std::int64_t{1} << 61;  // 2^64 bytes
  expect_part(error_of(layout), "more than 2^62 bytes");
}

TEST(LaunchCheck, MakesTwoAlignedBuffersOfWorkspace) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  const auto workspace = [&](std::int64_t n) {
    return layout_of(manifest, {{"m", 1}, {"n", n}}).kernels[0].workspace_bytes;
  };
  EXPECT_EQ(workspace(100), 0);
  manifest.kernels[0].workspace = {{{1, {}}}};
  EXPECT_EQ(workspace(100), 512);
  manifest.kernels[0].workspace = {{{12, {"n"}}}};
  EXPECT_EQ(workspace(100), 1536);
}

/// Memory for what a schedule never launches would be lost: a large operation takes its small one's workspace only.
TEST(LaunchCheck, TakesNoMoreWorkspaceThanItsSchedulesNeed) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].workspace = {{{16, {"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].workspace = {};
  manifest.schedules = {{.up_to = 64, .steps = {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}},
                        {.up_to = every_size, .steps = {{0, LaunchStep{1, {"input", "output"}, {{"n"}}}}}}};
  const auto layout = layout_of(manifest, {{"m", 1}, {"n", 1 << 20}});
  EXPECT_EQ(layout.kernels[0].workspace_bytes, 16 * 64);
  EXPECT_EQ(layout.kernels[1].workspace_bytes, 0);

  // And one of a capacity that only the small one's takes.
  manifest.kernels[1].workspace = {{{4096, {}}}};
  EXPECT_EQ(layout_of(manifest, {{"m", 1}, {"n", 64}}).kernels[1].workspace_bytes, 0);
  EXPECT_EQ(layout_of(manifest, {{"m", 1}, {"n", 65}}).kernels[1].workspace_bytes, 4096);
  manifest.schedules[0].bounds = {{.extent = "n", .multiple_of = 2}};  // so that it leaves some small ones
  EXPECT_EQ(layout_of(manifest, {{"m", 1}, {"n", 64}}).kernels[1].workspace_bytes, 4096);
}

/// Few rows go through a buffer, and many do without: there is room for few.
TEST(LaunchCheck, TakesNoMoreForABufferThanItsSchedulesNeed) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.problem.extents = {{"m", {.dynamic = true}}, {"n", {.dynamic = true}}};
  manifest.intermediates = {{.name = "between", .dtype = Dtype::i32, .shape = {{"m", 2}, {"n"}}},
                            {.name = "copied", .dtype = Dtype::i32, .shape = {{"m"}}}};
  manifest.schedules = {{every_size, {{0, LaunchStep{0, {"input", "between"}, {{"n"}}}}}, {{"m", 16}}},
                        {every_size, {{0, LaunchStep{0, {"between", "output"}, {{"n"}}}}}, {{"m", 128}}},
                        {every_size, {{0, CopyStep{.from = "input", .to = "copied", .shape = {{"m"}}}}}, {{"m", 1024}}},
                        {every_size, {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}}};
  const auto bytes = [&](std::int64_t m) {
    const OperationLayout layout = layout_of(manifest, {{"m", m}, {"n", 64}});
    return std::pair(layout.intermediates.at(1) - layout.intermediates.at(0),
                     layout.total_bytes - layout.intermediates.at(1));
  };
  EXPECT_EQ(bytes(100'000), std::pair(std::int64_t{4} * 2 * 128 * 64, std::int64_t{4} * 1024));
  EXPECT_EQ(bytes(64), std::pair(std::int64_t{4} * 2 * 64 * 64, std::int64_t{4} * 64));
}

/// The heap is as large as it is from the beginning; what others never reach need not be there.
TEST(LaunchCheck, TakesHeapForBuffersThatOthersReachOnly) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  const std::int64_t without = layout_of(manifest, {{"m", 1}, {"n", 1000}}).total_bytes;
  manifest.intermediates = {{.name = "alone", .dtype = Dtype::i32, .shape = {{"n"}}, .symmetric = false},
                            {.name = "between", .dtype = Dtype::i32, .shape = {{"n", 2}}},
                            {.name = "beside", .dtype = Dtype::i32, .shape = {{"n"}}, .symmetric = false}};
  manifest.schedules[0].steps = {{0, LaunchStep{0, {"alone", "between"}, {{"n"}}}},
                                 {0, LaunchStep{0, {"between", "beside"}, {{"n"}}}}};
  const OperationLayout layout = layout_of(manifest, {{"m", 1}, {"n", 1000}});
  EXPECT_EQ(layout.total_bytes, without + 8192);
  EXPECT_EQ(layout.device_bytes, 2 * 4096);
  EXPECT_EQ(layout.intermediates, (std::vector<std::int64_t>{0, without, 4096}));
}

TEST(LaunchCheck, LaysNothingOverAnythingElse) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].workspace = {{{12, {"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.schedules[0].steps.push_back({0, LaunchStep{1, {"input", "between"}, {{"n"}}}});
  manifest.intermediates = {{.name = "between", .dtype = Dtype::f64, .shape = {{"n", 3}}}};
  const OperationLayout layout = layout_of(manifest, {{"m", 1}, {"n", 100}});
  std::vector<std::pair<std::int64_t, std::int64_t>> used;  // where it begins, how long it is
  for (std::size_t i = 0; i < 2; ++i) {
    used.emplace_back(layout.kernels[i].flags, manifest.kernels[i].flags * 8);
    used.emplace_back(layout.kernels[i].launches, manifest.kernels[i].blocks * 8);
    EXPECT_LE(layout.kernels[i].launches + 16, layout.cleared_bytes) << "counts must be cleared";
    used.emplace_back(layout.kernels[i].workspace, layout.kernels[i].workspace_bytes);
  }
  used.emplace_back(layout.intermediates.at(0), 3 * 100 * 8);
  std::ranges::sort(used);
  std::int64_t end = 0;
  for (const auto& [begin, bytes] : used) {
    EXPECT_GE(begin, end);
    EXPECT_EQ(begin % 256, 0);
    end = begin + bytes;
  }
  EXPECT_LE(end, layout.total_bytes);
}

TEST(LaunchCheck, TakesTheFirstScheduleThatReaches) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.schedules = {{.up_to = 10, .steps = {}}, {.up_to = 100, .steps = {}}, {.up_to = every_size, .steps = {}}};
  const auto up_to = [&](std::int64_t n) { return schedule_for(manifest, {{"m", 1}, {"n", n}}).up_to; };
  EXPECT_EQ(up_to(0), 10);
  EXPECT_EQ(up_to(10), 10);
  EXPECT_EQ(up_to(11), 100);
  EXPECT_EQ(up_to(101), every_size);
}

TEST(LaunchCheck, TakesSchedulesWhoseBoundsExtentsAreWithin) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.schedules = {{.up_to = 32, .steps = {}, .bounds = {{.extent = "n", .multiple_of = 8}}},
                        {.up_to = 64, .steps = {}, .bounds = {{.extent = "n", .multiple_of = 8}}},
                        {.up_to = 10, .steps = {}},
                        {.up_to = every_size, .steps = {}}};
  const auto up_to = [&](std::int64_t n) { return schedule_for(manifest, {{"m", 1}, {"n", n}}).up_to; };
  EXPECT_EQ(up_to(8), 32);
  EXPECT_EQ(up_to(40), 64);
  EXPECT_EQ(up_to(9), 10);
  EXPECT_EQ(up_to(0), 10) << "nothing is no multiple";
  EXPECT_EQ(up_to(63), every_size);
  EXPECT_EQ(up_to(72), every_size);
  manifest.schedules = {{.up_to = 10, .steps = {}, .bounds = {{"m", 4}}},
                        {.up_to = every_size - 1, .steps = {}, .bounds = {{"m", 4}, {"n", 16, 8}}},
                        {.up_to = every_size, .steps = {}}};
  manifest.problem.extents = {{"m", {.dynamic = true}}, {"n", {.dynamic = true}}};
  const auto taken = [&](std::int64_t m, std::int64_t n) { return schedule_for(manifest, {{"m", m}, {"n", n}}).up_to; };
  EXPECT_EQ(taken(4, 0), 10) << "nothing is up to anything";
  EXPECT_EQ(taken(2, 5), 10);
  EXPECT_EQ(taken(2, 6), every_size) << "6 is no multiple";
  EXPECT_EQ(taken(2, 8), every_size - 1);
  EXPECT_EQ(taken(2, 24), every_size) << "24 is too long";
  EXPECT_EQ(taken(5, 0), every_size);
}

/// The order of schedules is not that of sizes where some are of multiples.
TEST(LaunchCheck, HasWorkspaceForTheLargestOfAKernelsSchedules) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].workspace = {{{16, {"n"}}}};
  const Step step = {0, LaunchStep{0, {"input", "output"}, {{"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.schedules = {{.up_to = 64, .steps = {step}, .bounds = {{.extent = "n", .multiple_of = 8}}},
                        {.up_to = 10, .steps = {step}},
                        {.up_to = every_size, .steps = {{0, LaunchStep{1, {"input", "output"}, {{"n"}}}}}}};
  EXPECT_EQ(layout_of(manifest, {{"m", 1}, {"n", 1 << 20}}).kernels[0].workspace_bytes, 16 * 64);
}

/// Of a product of any columns the kernel of few rows needs room for few rows.
TEST(LaunchCheck, HasWorkspaceForTheLongestOfAKernelsExtents) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.problem.extents = {{"m", {.dynamic = true}}, {"n", {.dynamic = true}}};
  manifest.kernels[0].workspace = {{{2, {"m", "n"}}, {8, {"n"}}}};
  const Step step = {0, LaunchStep{0, {"input", "output"}, {{"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.schedules = {{.up_to = every_size, .steps = {step}, .bounds = {{"m", 16}}},
                        {.up_to = every_size, .steps = {step}, .bounds = {{"m", 32}}},
                        {.up_to = every_size, .steps = {{0, LaunchStep{1, {"input", "output"}, {{"n"}}}}}}};
  const auto layout = layout_of(manifest, {{"m", 1024}, {"n", 512}});
  EXPECT_EQ(layout.kernels[0].workspace_bytes, 2 * 32 * 512 + 8 * 512);
  EXPECT_EQ(layout.kernels[1].workspace_bytes, 2 * 1024 * 512 + 8 * 512);
  EXPECT_EQ(layout_of(manifest, {{"m", 8}, {"n", 512}}).kernels[0].workspace_bytes, 2 * 8 * 512 + 8 * 512);
}

}  // namespace
}  // namespace iris::launch_check_test
