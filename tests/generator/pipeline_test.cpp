// Kernels whose blocks pass messages on chunk by chunk.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/generator/samples.hpp"

namespace irisgen::pipeline_test {
namespace {

/// Of a broadcast of so many bytes on four GPUs.
std::int64_t number_of(const std::string& name, const std::string& variant, const std::string& dtype,
                       std::int64_t bytes, const std::string& config = "") {
  const std::int64_t elements = bytes / (dtype == "f32" ? 4 : 2);
  return number(plan("broadcast",
                     "variant: " + variant + ", dtype: " + dtype +
                         ", world: 4, shape: {n: " + std::to_string(elements) + "}" + config,
                     "sm_90a"),
                name);
}

constexpr std::int64_t mib = 1 << 20;

/// The fastest of those measured, by powers of two: docs/measured.md, "Broadcasts".
TEST(Pipeline, TakesLongerChunksOfLongerMessages) {
  const auto bytes = [](const std::string& variant, std::int64_t of, const std::string& dtype = "bf16") {
    return number_of("chunk", variant, dtype, of) * (dtype == "f32" ? 4 : 2);
  };
  EXPECT_EQ(bytes("scatter_gather", 4 * mib), 4096);
  EXPECT_EQ(bytes("scatter_gather", 16 * mib), 4096);
  EXPECT_EQ(bytes("scatter_gather", 64 * mib), 8192);
  EXPECT_EQ(bytes("chain", 16 * mib), 16384);
  EXPECT_EQ(bytes("chain", 64 * mib), 16384);
  EXPECT_EQ(bytes("chain", 1024 * mib), 32768);
  EXPECT_EQ(bytes("chain", 64 * mib, "f32"), 16384) << "bytes decide, not elements";
}

TEST(Pipeline, HasAWaveToAnnounceAndTwiceAsManyBlocks) {
  EXPECT_EQ(number_of("threads", "chain", "bf16", 64 * mib), 256 + 32);
  EXPECT_EQ(number_of("blocks", "chain", "bf16", 64 * mib), 128);
  EXPECT_EQ(number_of("blocks", "chain", "bf16", 8 * 256 * 2 * 3), 3) << "a block and iteration: 8 of each that moves";
}

/// A thread has no more packs in flight than it has of a chunk.
TEST(Pipeline, UnrollsAsFarAsChunksGo) {
  EXPECT_EQ(number_of("unroll", "scatter_gather", "bf16", 16 * mib), 1);
  EXPECT_EQ(number_of("unroll", "scatter_gather", "bf16", 64 * mib), 2);
  EXPECT_EQ(number_of("unroll", "chain", "bf16", 64 * mib), 4);
  EXPECT_EQ(number_of("unroll", "chain", "bf16", 1024 * mib), 4);
  EXPECT_EQ(number_of("unroll", "chain", "bf16", 64 * mib, ", config: {threads: 544}"), 2);
}

}  // namespace
}  // namespace irisgen::pipeline_test
