#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

std::string shape(int world, std::int64_t m, std::int64_t k) {
  std::string text = "dtype: bf16, layout: {b: nk}, world: ";
  text += std::to_string(world);
  text += ", shape: {n: 8192, m: ";
  text += std::to_string(m);
  text += ", k: ";
  text += std::to_string(k);
  return text + "}";
}

/// As measured on two H100s and on four.
TEST(ProductLines, AreTakenOfFewRows) {
  const auto chosen = [](const char* pattern, int world, std::int64_t m, std::int64_t k) {
    return plan(pattern, shape(world, m, k), "sm_90a").variant;
  };
  for (const std::int64_t k : {1024, 3584}) {
    for (const std::int64_t m : {16, 32, 64}) {
      EXPECT_EQ(chosen("matmul_reduce_scatter", 2, m, k), "low_latency") << m << " " << k;
      EXPECT_EQ(chosen("matmul_all_reduce", 2, m, k), "low_latency") << m << " " << k;
    }
    EXPECT_EQ(chosen("matmul_reduce_scatter", 2, 256, k), "fused_sequential") << k;
    EXPECT_EQ(chosen("matmul_all_reduce", 2, 256, k), "fused_sequential") << k;
    for (const std::int64_t m : {16, 32, 64}) {
      EXPECT_EQ(chosen("matmul_reduce_scatter", 4, m, k), "low_latency") << m << " " << k;
      EXPECT_EQ(chosen("matmul_all_reduce", 4, m, k), m == 16 ? "low_latency" : "fused_sequential") << m << " " << k;
    }
  }
  EXPECT_EQ(chosen("matmul_reduce_scatter", 2, 128, 3584), "low_latency");
  EXPECT_EQ(chosen("matmul_all_reduce", 2, 128, 3584), "fused_sequential");
}

/// What low_latency takes longer than the product alone, on two H100s, by rows of n = 8192.
TEST(ProductLines, AddWhatWasMeasuredToTheProduct) {
  struct Measured {
    const char* pattern;
    std::int64_t m;
    std::int64_t k;
    double added_us;
  };
  constexpr const char* scatter = "matmul_reduce_scatter";
  constexpr const char* reduce = "matmul_all_reduce";
  for (const auto& [pattern, m, k, added_us] : {
           Measured{scatter, 16, 3584, 3.1},
           {scatter, 32, 3584, 3.3},
           {scatter, 64, 3584, 5.1},
           {scatter, 128, 3584, 7.9},
           {scatter, 256, 3584, 14.9},
           {scatter, 64, 1024, 5.3},
           {scatter, 256, 1024, 14.3},
           {reduce, 16, 3584, 3.0},
           {reduce, 32, 3584, 4.8},
           {reduce, 64, 3584, 6.9},
           {reduce, 128, 3584, 15.0},
           {reduce, 256, 3584, 28.8},
           {reduce, 16, 1024, 2.8},
           {reduce, 64, 1024, 7.2},
           {reduce, 256, 1024, 26.7},
       }) {
    const double alone_us = plan("matmul", shape(1, m, k), "sm_90a").prediction.time_us;
    const double us = plan(pattern, shape(2, m, k) + ", variant: low_latency", "sm_90a").prediction.time_us;
    EXPECT_NEAR(us - alone_us, added_us, 1 + added_us / 10) << pattern << " " << m << " " << k;
  }
}

/// Two ping-pong buffers with a message of each rank, of lines of 16 bytes; and the images of blocks that hold tiles
/// nowhere else.
TEST(ProductLines, HaveRoomForAMessageOfEachRank) {
  const auto workspace = [](const char* pattern, const std::string& text, const char* target) {
    return plan(pattern, "variant: low_latency, " + text, target).kernels.at(0).workspace.terms;
  };
  const std::string odd = "world: 3, layout: {b: nk}, shape: {m: 9, n: 330, k: 72}, dtype: ";
  const auto of_rows = workspace("matmul_reduce_scatter", odd + "bf16", "sm_90a");
  ASSERT_EQ(of_rows.size(), 1u);
  EXPECT_EQ(of_rows[0].bytes, 2 * 3 * 3 * 83 * 16);  // 330 of 16 bits are 82.5 lines
  const auto of_all = workspace("matmul_all_reduce", odd + "tf32", "sm_90a");
  ASSERT_EQ(of_all.size(), 1u);
  EXPECT_EQ(of_all[0].bytes, 2 * 3 * 9 * 165 * 16);
  const auto with_images = workspace("matmul_all_reduce", odd + "bf16, config: {blocks: 5}", "host");
  ASSERT_EQ(with_images.size(), 2u);
  EXPECT_EQ(with_images[0].bytes, 2 * 3 * 9 * 83 * 16);
  EXPECT_EQ(with_images[1].bytes, 2 * 5 * 16 * 16 * 2);
}

}  // namespace
}  // namespace irisgen
