// What the model says of collectives, and what is chosen by it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "irisgen/pattern.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::prediction_test {
namespace {

TEST(AllReduce, TakesTheVariantOfTheLeastPredictedTime) {
  EXPECT_EQ(plan("all_reduce", "dtype: bf16, world: 4, shape: {n: 262144}", "sm_90a").variant, "low_latency_two_shot");
  EXPECT_EQ(plan("all_reduce", "dtype: f32, world: 8, shape: {n: 256}", "sm_90a").variant, "low_latency");
  EXPECT_EQ(plan("all_reduce", "dtype: f32, world: 8, shape: {n: 524288}", "sm_90a").variant, "two_shot");
  const Plan large = plan("all_reduce", "dtype: f32, world: 8, shape: {n: 4194304}", "sm_90a");
  EXPECT_EQ(large.variant, "workgroup_specialized");
  const std::string& reason = large.choices.at(0).reason;
  // 2 µs of launch, a signal of 1.75 µs, 7 · 16 MiB over links of 336 GB/s, then 8 · 16 MiB from memory at 4300.
  EXPECT_NE(reason.find("one_shot 384.5 µs"), std::string::npos) << reason;
  ASSERT_EQ(large.alternatives.size(), 9u);
  for (const Alternative& other : large.alternatives) {
    const bool by_name_only = other.variant == "atomic" || other.variant == "spinlock";
    EXPECT_EQ(other.refusal.empty(), !by_name_only) << other.refusal;
    EXPECT_TRUE(by_name_only || other.time_us >= large.prediction.time_us) << other.variant;
  }
}

/// Readings of `irisgen bench` on four H200, those of lines in two ways and of chunks on four H100, bf16; sizes in
/// bytes as nccl-tests counts them.
TEST(Prediction, IsNearWhatWasMeasured) {
  struct Reading {
    const char* pattern;
    const char* variant;
    double at_4_kib, at_64_kib, at_1_mib;
  };
  constexpr Reading readings[] = {{"all_reduce", "low_latency", 3.2, 4.0, 21.5},
                                  {"all_reduce", "one_shot", 4.2, 5.0, 14.2},
                                  {"all_reduce", "two_shot", 5.8, 6.6, 10.3},
                                  {"all_gather", "low_latency", 2.7, 3.6, 7.5},
                                  {"all_gather", "direct", 5.0, 5.6, 7.6},
                                  {"reduce_scatter", "low_latency", 3.1, 3.8, 7.8},
                                  {"reduce_scatter", "direct", 5.5, 5.7, 8.7},
                                  {"broadcast", "low_latency", 2.7, 3.1, 19.0},
                                  {"broadcast", "direct", 5.1, 5.9, 14.1},
                                  {"broadcast", "scatter_gather", 10.1, 11.1, 15.0},
                                  {"broadcast", "chain", 12.1, 13.6, 21.3},
                                  {"broadcast", "low_latency_scatter_gather", 3.3, 3.7, 8.2},
                                  {"all_to_all", "low_latency", 3.1, 3.8, 7.7},
                                  {"all_to_all", "direct", 4.9, 5.8, 7.8},
                                  {"all_reduce", "low_latency_two_shot", 4.3, 4.8, 10.3}};
  for (const Reading& reading : readings) {
    const auto* bus = find_pattern(reading.pattern)->bus;
    for (const auto& [bytes, measured] :
         {std::pair{4 << 10, reading.at_4_kib}, {64 << 10, reading.at_64_kib}, {1 << 20, reading.at_1_mib}}) {
      const int elements = bytes / 2 / (bus->size_has_world ? 4 : 1);
      const double predicted = plan(reading.pattern,
                                    "variant: " + std::string(reading.variant) +
                                        ", dtype: bf16, world: 4, shape: {n: " + std::to_string(elements) + "}",
                                    "sm_90a")
                                   .prediction.time_us;
      EXPECT_NEAR(predicted / measured, 1, 0.3) << reading.pattern << " " << reading.variant << " of " << bytes;
    }
  }
}

/// Readings of the same on two H200: docs/measured.md, "Sums in chunks".
TEST(Prediction, IsNearWhatWasMeasuredOfSumsInChunks) {
  struct Reading {
    const char* pattern;
    int mib;
    double measured;
  };
  constexpr Reading readings[] = {{"reduce_scatter", 16, 30.4}, {"reduce_scatter", 64, 102},
                                  {"reduce_scatter", 256, 381}, {"reduce_scatter", 1024, 1501},
                                  {"all_reduce", 16, 53.3},     {"all_reduce", 64, 194},
                                  {"all_reduce", 256, 741},     {"all_reduce", 1024, 2946}};
  for (const Reading& reading : readings) {
    const int shards = find_pattern(reading.pattern)->bus->size_has_world ? 2 : 1;
    const double predicted = plan(reading.pattern,
                                  "variant: workgroup_specialized, dtype: bf16, world: 2, shape: {n: " +
                                      std::to_string((reading.mib << 19) / shards) + "}",
                                  "sm_90a")
                                 .prediction.time_us;
    EXPECT_NEAR(predicted / reading.measured, 1, 0.04) << reading.pattern << " of " << reading.mib << " MiB";
  }
}

TEST(AllReduce, ChoosesOnTheHostAsAGpuWould) {
  for (const char* n : {"256", "16777216"}) {
    const std::string rest = "dtype: f32, world: 8, shape: {n: " + std::string(n) + "}";
    EXPECT_EQ(plan("all_reduce", rest, "host").variant, plan("all_reduce", rest, "sm_90a").variant) << n;
  }
}

TEST(AllReduce, PredictsTheBytesOfTheBusiestRank) {
  const auto bytes = [](const std::string& variant) {
    return plan("all_reduce", "dtype: f16, world: 8, shape: {n: 8000}, variant: " + variant, "gfx942")
        .prediction.link_bytes;
  };
  EXPECT_EQ(bytes("one_shot"), 7 * 16000);
  EXPECT_EQ(bytes("two_shot"), 2 * 7 * 16000 / 8);
  EXPECT_EQ(bytes("low_latency_two_shot"), 2 * 2 * 7 * 16000 / 8);  // marks beside as many bytes of elements
  EXPECT_EQ(bytes("ring"), 8000 * 4 + 8000 * 2);
  EXPECT_EQ(bytes("spinlock"), 2 * 7 * 8000 * 4);  // read by the others, and written to them
}

TEST(AllReduce, PredictsNothingWhereItCannot) {
  const Plan host = plan("all_reduce", "dtype: f32, world: 8, shape: {n: 85002}", "host");
  EXPECT_EQ(host.prediction.time_us, 0);
  EXPECT_EQ(host.prediction.basis, "host has no rates to predict from");
  const Plan dynamic = plan("all_gather", "dtype: f32, world: 8, shape: {n: dynamic}", "sm_90a");
  EXPECT_EQ(dynamic.prediction.time_us, 0);
}

}  // namespace
}  // namespace irisgen::prediction_test
