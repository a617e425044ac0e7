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

/// Of a sum of so many bytes in chunks on so many GPUs.
std::int64_t number_of_sums(const std::string& name, int world, std::int64_t bytes, const std::string& config = "") {
  return number(plan("reduce_scatter",
                     "variant: workgroup_specialized, dtype: bf16, world: " + std::to_string(world) +
                         ", shape: {n: " + std::to_string(bytes / world / 2) + "}" + config,
                     "sm_90a"),
                name);
}

/// To one other the fastest of those measured on two H200: docs/measured.md, "Sums in chunks".
TEST(PushAndReduce, PushesAsMuchAtATimeToHoweverManyRanks) {
  const auto bytes = [](int world, std::int64_t of) { return 2 * number_of_sums("chunk", world, of); };
  EXPECT_EQ(bytes(2, 16 * mib), 32768);
  EXPECT_EQ(bytes(2, 64 * mib), 65536);
  EXPECT_EQ(bytes(2, 1024 * mib), 65536);
  EXPECT_EQ(bytes(4, 1024 * mib), 16384) << "to three others, a power of two";
  EXPECT_EQ(bytes(8, 1024 * mib), 8192);
}

TEST(PushAndReduce, HasAsManyBlocksInEachRole) {
  EXPECT_EQ(number_of_sums("threads", 2, 64 * mib), 512 + 32);
  EXPECT_EQ(number_of_sums("blocks", 2, 64 * mib), 128);
  EXPECT_EQ(number_of_sums("comm_blocks", 2, 64 * mib), 64);
  EXPECT_EQ(number_of_sums("blocks", 2, 2 * 8 * 512 * 2 * 3), 6) << "a block and iteration: 8 of each that moves";
  EXPECT_EQ(number_of_sums("blocks", 2, 4), 2) << "both roles, of one element";
  EXPECT_EQ(number_of_sums("ring", 2, 64 * mib, ", config: {comm_blocks: 40}"), 4 * 40);
}

TEST(PushAndReduce, RefusesABlockAloneAndRolesWithoutBlocks) {
  const auto refused = [](const std::string& config, const std::string& words) {
    expect_refused("reduce_scatter",
                   "variant: workgroup_specialized, dtype: bf16, world: 2, shape: {n: 64}, config: {" + config + "}",
                   "sm_90a", words);
  };
  refused("blocks: 1", "1 of 1 block push; write blocks: 2 or more, so that some are left to reduce");
  refused("blocks: 4, comm_blocks: 4",
          "4 of 4 blocks push; comm_blocks must be from 1 to 3, so that some are left to reduce");
}

/// A ring holds what blocks have on their way, however long messages are.
TEST(PushAndReduce, TakesNoMoreOfTheHeapForLongerMessages) {
  const auto bytes = [](const char* n) {
    const Plan planned =
        plan("reduce_scatter",
             "variant: workgroup_specialized, dtype: bf16, world: 4, shape: {n: " + std::string(n) + "}", "sm_90a");
    return planned.kernels.at(0).workspace;
  };
  // Two ping-pong buffers of 4 · 64 slots of 16 KiB for each of three others.
  const iris::ByteSize expected = {.terms = {{.bytes = 2LL * 3 * 4 * 64 * 16384}}};
  EXPECT_EQ(bytes("134217728"), expected);
  EXPECT_EQ(bytes("dynamic"), expected);
  // A short message has no more slots than chunks.
  EXPECT_EQ(number_of_sums("ring", 4, 16 << 10), number_of_sums("comm_blocks", 4, 16 << 10));
}

}  // namespace
}  // namespace irisgen::pipeline_test
