#include "iris/bench.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace iris {
namespace {

using Sizes = std::vector<std::int64_t>;
using irisgen::Dtype;
using irisgen::find_pattern;
using irisgen::KernelSpec;

KernelSpec kernel_of(std::string_view pattern, Dtype dtype) {
  KernelSpec kernel;
  kernel.name = "measured";
  kernel.pattern = find_pattern(pattern);
  kernel.dtype = dtype;
  kernel.m.value = 3;
  kernel.n.dynamic = true;
  return kernel;
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

TEST(BenchSizes, LargestSizeDoesNotOverflow) {
  EXPECT_EQ(parse_sizes("4611686018427387904:9223372036854775807:2").size(), 1U);
  EXPECT_THROW(parse_sizes("9223372036854775807K"), std::invalid_argument);
}

TEST(BenchSizes, WrongTextIsASentenceWithTheText) {
  for (const char* text : {"", ":", "4K:", "4Q", "-1", "0", "64M:4K", "4K:64K:1", "4K:64K:2:2", "4 K", "K"}) {
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
    EXPECT_EQ(sized.m.value, 1);
    EXPECT_EQ(sized.n.value, 1024) << pattern;
    EXPECT_FALSE(sized.n.dynamic);
    EXPECT_EQ(size_of(sized, 8, {.m = 1, .n = 1024}), 4096) << pattern;
  }
}

TEST(BenchSizes, SizeIsAllRanksTogetherWhereABufferHoldsAPartForEach) {
  for (const char* pattern : {"all_gather", "reduce_scatter", "all_to_all"}) {
    const KernelSpec sized = at_size(kernel_of(pattern, Dtype::bf16), 8, 4096);
    EXPECT_EQ(sized.n.value, 256) << pattern;
    EXPECT_EQ(size_of(sized, 8, {.m = 1, .n = 256}), 4096) << pattern;
  }
}

TEST(BenchSizes, SizeBelowOneElementIsOneElement) {
  EXPECT_EQ(at_size(kernel_of("all_gather", Dtype::f64), 8, 1).n.value, 1);
}

TEST(BenchSizes, FusedKernelHasNoSingleSize) {
  EXPECT_THROW(at_size(kernel_of("all_gather_matmul", Dtype::f32), 8, 4096), std::invalid_argument);
}

TEST(BenchBandwidth, BusFactorIsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("all_reduce"), 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("all_gather"), 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("reduce_scatter"), 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("all_to_all"), 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("broadcast"), 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(*find_pattern("matmul_reduce_scatter"), 8), 0);
}

TEST(BenchKernel, HostTargetIsRefused) {
  const KernelSpec kernel = kernel_of("all_reduce", Dtype::f32);
  try {
    bench_kernel(kernel, 2, *irisgen::find_target("host"), {.sizes = {4096}});
    FAIL() << "the CPU engine must not be measured";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("host"), std::string::npos) << error.what();
  }
}

TEST(BenchKernel, DynamicShapeWithoutSizesIsRefused) {
  const KernelSpec kernel = kernel_of("all_reduce", Dtype::f32);
  EXPECT_THROW(bench_kernel(kernel, 2, *irisgen::find_target("sm_90a")), std::invalid_argument);
}

}  // namespace
}  // namespace iris
