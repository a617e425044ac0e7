#include "iris/bench.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "runtime/verify/batch.hpp"
#include "runtime/verify/bench_buffers.hpp"

namespace iris::bench_test {
namespace {

using Sizes = std::vector<std::int64_t>;
using irisgen::find_pattern;
using irisgen::KernelSpec;

KernelSpec kernel_of(const std::string& pattern, Dtype dtype) {
  KernelSpec kernel;
  kernel.name = "measured";
  kernel.problem = {.pattern = pattern, .dtype = dtype, .world = 8};
  for (const std::string& extent : irisgen::keys_of(pattern).extents) {
    kernel.problem.extents.push_back({extent, extent == "m" ? Extent{.value = 3} : Extent{.dynamic = true}});
  }
  return irisgen::check(kernel).kernels.at(0);
}

std::int64_t length(const KernelSpec& kernel, const char* extent) {
  EXPECT_FALSE(kernel.problem.extent(extent).dynamic);
  return kernel.problem.extent(extent).value;
}

TEST(BenchSizes, RangeStepsByFourUnlessAFactorIsGiven) {
  EXPECT_EQ(parse_sizes("4K:64K"), (Sizes{4096, 16384, 65536}));
  EXPECT_EQ(parse_sizes("4K:16K:2"), (Sizes{4096, 8192, 16384}));
}

TEST(BenchSizes, RangeNeverPassesItsEnd) {
  EXPECT_EQ(parse_sizes("1K:15K"), (Sizes{1024, 4096}));
}

TEST(BenchSizes, OneSizeAndPlainBytesAreFine) {
  EXPECT_EQ(parse_sizes("100"), (Sizes{100}));
  EXPECT_EQ(parse_sizes("1m"), (Sizes{1 << 20}));
  EXPECT_EQ(parse_sizes("2G:2G"), (Sizes{std::int64_t{2} << 30}));
}

TEST(BenchSizes, CommasStandBetweenSeveral) {
  EXPECT_EQ(parse_sizes("5,1K:4K:2,3"), (Sizes{5, 1024, 2048, 4096, 3}));
}

TEST(BenchSizes, LargestSizeDoesNotOverflow) {
  EXPECT_EQ(parse_sizes("4611686018427387904:9223372036854775807:2").size(), 1U);
  EXPECT_THROW(parse_sizes("9223372036854775807K"), std::invalid_argument);
}

TEST(BenchSizes, WrongTextIsASentenceWithTheText) {
  for (const char* text :
       {"", ":", "4K:", "4Q", "-1", "0", "64M:4K", "4K:64K:1", "4K:64K:2:2", "4 K", "K", "4K,", "1,,2", "1,2:1"}) {
    try {
      parse_sizes(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos) << error.what();
    }
  }
}

TEST(BenchSizes, SizeIsTheBufferOfAllReduceAndBroadcast) {
  for (const char* pattern : {"all_reduce", "broadcast"}) {
    const KernelSpec sized = at_size(kernel_of(pattern, Dtype::f32), 8, 4096);
    EXPECT_EQ(length(sized, "m"), 1);
    EXPECT_EQ(length(sized, "n"), 1024) << pattern;
    EXPECT_EQ(irisgen::bus_size(sized.problem), 4096) << pattern;
  }
}

TEST(BenchSizes, SizeIsAllRanksTogetherWhereABufferHoldsAShardForEach) {
  for (const char* pattern : {"all_gather", "reduce_scatter", "all_to_all"}) {
    const KernelSpec sized = at_size(kernel_of(pattern, Dtype::bf16), 8, 4096);
    EXPECT_EQ(length(sized, "n"), 256) << pattern;
    EXPECT_EQ(irisgen::bus_size(sized.problem), 4096) << pattern;
  }
}

TEST(BenchSizes, SizeBelowOneElementIsOneElement) {
  EXPECT_EQ(length(at_size(kernel_of("all_gather", Dtype::f64), 8, 1), "n"), 1);
}

TEST(BenchSizes, KernelWithAMatmulHasNoSingleSize) {
  EXPECT_THROW(at_size(kernel_of("all_gather_matmul", Dtype::f32), 8, 4096), std::invalid_argument);
}

TEST(BenchBandwidth, BusFactorIsThatOfNcclTests) {
  const auto bus_factor = [](const char* pattern, double world) {
    return find_pattern(pattern)->bus->bus_over_algorithm(world);
  };
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor("all_gather", 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor("reduce_scatter", 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor("all_to_all", 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor("broadcast", 8), 1);
  EXPECT_EQ(find_pattern("matmul_reduce_scatter")->bus, nullptr);
}

TEST(BenchOperation, HostTargetIsRefused) {
  const KernelSpec kernel = kernel_of("all_reduce", Dtype::f32);
  try {
    bench_operation(kernel, 2, *irisgen::find_target("host"), {.sizes = {4096}});
    FAIL() << "the CPU engine must not be measured";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("host"), std::string::npos) << error.what();
  }
}

TEST(BenchOperation, DynamicShapeWithoutSizesIsRefused) {
  const KernelSpec kernel = kernel_of("all_reduce", Dtype::f32);
  EXPECT_THROW(bench_operation(kernel, 2, *irisgen::find_target("sm_90a")), std::invalid_argument);
}

irisgen::Plan plan_of_bytes(std::int64_t bytes) {
  KernelSpec kernel = at_size(kernel_of("all_reduce", Dtype::f32), 1, bytes / 2);  // its input and its output
  return irisgen::make_plan(kernel, 1, *irisgen::find_target("sm_90a"));
}

/// What lies between two launches with the same buffers is twice the cache, which is 50 MiB there.
TEST(BenchBuffers, TakeTurnsUntilNoCacheHoldsThem) {
  const auto turns_of = [](std::int64_t bytes, bool cold) {
    return buffer_turns(plan_of_bytes(bytes), {{"m", 1}, {"n", bytes / 8}}, cold, 20);
  };
  EXPECT_EQ(turns_of(std::int64_t{64} << 20, false).sets, 1);
  const BufferTurns large = turns_of(std::int64_t{32} << 20, true);
  EXPECT_EQ(large.sets, 1 + 4 + 1) << "one, 4 to fill 100 MiB, and that of the launch before the batch";
  EXPECT_EQ(large.flush_bytes, 0);
  const BufferTurns small = turns_of(std::int64_t{1} << 10, true);
  EXPECT_EQ(small.sets, 20 + 1) << "each launch of a batch has its own";
  EXPECT_EQ(small.flush_bytes, 50 << 20);
  EXPECT_GE(small.heap_bytes(), 21 * 1024 + 2 * (50 << 20));
}

TEST(BenchBuffers, AreAnothersInEveryTurn) {
  World world({.size = 1, .target = "host", .heap_bytes = std::size_t{1} << 20});
  world.run([](Context& context) {
    const irisgen::Plan plan = plan_of_bytes(1 << 10);
    const BufferTurns turns = {.sets = 4, .bytes = 2 << 10, .flush_bytes = 1 << 10};
    const BenchBufferSets sets(context, plan, plan.problem.static_extents(), turns, 0);
    std::set<void*> inputs;
    for (const int number : {0, 1, 2, before_batch}) inputs.insert(sets.of_launch(number)[0]);
    EXPECT_EQ(inputs.size(), 4);
    EXPECT_EQ(sets.of_launch(3)[0], sets.of_launch(0)[0]);
    EXPECT_EQ(sets.of_launch(4)[1], sets.of_launch(1)[1]);
    const BenchBufferSets same(context, plan, plan.problem.static_extents(), {.sets = 1, .bytes = 2 << 10}, 0);
    EXPECT_EQ(same.of_launch(before_batch)[0], same.of_launch(5)[0]);
  });
}

/// 64 KiB in 4 µs, 64 MiB in 400, where the links carry 336 GB/s.
BenchReport report_of_two_sizes() {
  BenchReport report;
  report.kernel = "sum";
  report.pattern = "all_reduce";
  report.dtype = Dtype::bf16;
  report.link_gbs = 336;
  report.device = "a <GPU>";
  report.library = "NCCL 2.28.3";
  report.world = 4;
  for (const auto& [bytes, us] : {std::pair{std::int64_t{1} << 16, 4.0}, {std::int64_t{1} << 26, 400.0}}) {
    BenchPoint point;
    point.bytes = bytes;
    point.time_us = us;
    point.bus_gbs = 1.5 * static_cast<double>(bytes) / us / 1000;
    point.library = {.time_us = 2 * us, .window_us = 0};
    report.points.push_back(point);
  }
  return report;
}

/// The points of line number `line` of all lines of the image, "x,y x,y ".
std::string points_of(const std::string& svg, int line) {
  std::size_t at = 0;
  for (int i = 0; i <= line; ++i) at = svg.find("<polyline", at) + 1;
  const std::size_t begin = svg.find("points=\"", at) + 8;
  return svg.substr(begin, svg.find('"', begin) - begin);
}

TEST(BenchChart, DrawsTimeAndBandwidthAgainstSize) {
  const std::string svg = bench_chart(std::vector{report_of_two_sizes()});
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a &lt;GPU>"), std::string::npos);
  EXPECT_NE(svg.find(">NCCL 2.28.3<"), std::string::npos);
  EXPECT_EQ(svg.find("windows"), std::string::npos) << "none was measured";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  // Times from 1 to 1000 µs over 162 units of height: 4 is 0.602 / 3 of it above the ground, 400 is 2.602 / 3.
  EXPECT_EQ(points_of(svg, 0), "56,181.5 428,73.5 ");
  EXPECT_EQ(points_of(svg, 1), "56,165.2 428,57.2 ");
  // Bandwidths from 0 to 400 GB/s: 24.6 and 251.7, the library's half of it, and what the links carry.
  EXPECT_EQ(points_of(svg, 3), "516,204 888,112.1 ");
  EXPECT_EQ(points_of(svg, 4), "516,209 888,163 ");
  EXPECT_EQ(points_of(svg, 5), "516,77.9 888,77.9 ");
}

TEST(BenchCsv, HasARowForEachSize) {
  BenchReport report = report_of_two_sizes();
  report.points.pop_back();
  report.device = "a \"GPU\", or two";
  report.points[0].extents = {{"m", 1}, {"n", 32768}};
  report.points[0].variant = "ring";
  report.points[0].grids = "4 x 64, 1 x 32";
  report.points[0].call_us = 2.5;
  EXPECT_EQ(
      bench_csv_header() + bench_csv_rows(report),
      "kernel,pattern,dtype,world,device,m,n,k,bytes,variant,grids,time_us,fastest_us,slowest_us,predicted_us,call_us,"
      "algorithm_gbs,bus_gbs,link_gbs,tflops,product_us,links_us,library,library_us,library_window_us,cold\r\n"
      "sum,all_reduce,bf16,4,\"a \"\"GPU\"\", or two\",1,32768,,65536,ring,\"4 x 64, 1 x 32\",4,0,0,0,2.5,0,24.576,0,0,"
      "0,0,NCCL 2.28.3,8,0,false\r\n");
}

TEST(BenchCsv, OfNothingHasNoRows) {
  EXPECT_EQ(bench_csv_rows({}), "");
}

TEST(BenchChart, IsHigherByARowForEachKernel) {
  const std::string svg = bench_chart(std::vector{report_of_two_sizes(), report_of_two_sizes()});
  EXPECT_NE(svg.find("height=\"500\""), std::string::npos);
}

TEST(BenchChart, IsOfCollectivesOnly) {
  BenchReport report = report_of_two_sizes();
  report.points[0].bytes = 0;
  EXPECT_THROW(bench_chart(std::vector{report}), std::invalid_argument);
  report.points.clear();
  EXPECT_THROW(bench_chart(std::vector{report}), std::invalid_argument);
}

}  // namespace
}  // namespace iris::bench_test
