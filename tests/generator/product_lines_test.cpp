#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/generator/samples.hpp"

namespace irisgen::product_lines_test {
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
    for (const int world : {2, 4}) {
      for (const std::int64_t m : {16, 32, 64, 128})
        EXPECT_EQ(chosen("matmul_reduce_scatter", world, m, k), "low_latency") << world << " " << m << " " << k;
      EXPECT_NE(chosen("matmul_reduce_scatter", world, 256, k), "low_latency") << world << " " << k;
    }
    for (const std::int64_t m : {4, 16, 32, 64}) {
      EXPECT_EQ(chosen("matmul_all_reduce", 2, m, k), "low_latency") << m << " " << k;
      EXPECT_EQ(chosen("matmul_all_reduce", 4, m, k), m == 4 ? "low_latency" : "low_latency_two_shot") << m << " " << k;
    }
    EXPECT_EQ(chosen("matmul_reduce_scatter", 2, 256, k), "fused_sequential") << k;
    EXPECT_EQ(chosen("matmul_all_reduce", 2, 128, k), "low_latency") << k;
    EXPECT_EQ(chosen("matmul_all_reduce", 2, 256, k), "fused_sequential") << k;
    EXPECT_EQ(chosen("matmul_all_reduce", 4, 256, k), "fused_sequential") << k;
  }
}

/// What such kernels take longer than the product alone, by rows of n = 8192, on so many H100s.
TEST(ProductLines, AddWhatWasMeasuredToTheProduct) {
  struct Measured {
    const char* pattern;
    const char* variant;
    int world;
    std::int64_t m;
    std::int64_t k;
    double added_us;
  };
  constexpr const char* scatter = "matmul_reduce_scatter";
  constexpr const char* reduce = "matmul_all_reduce";
  constexpr const char* one_way = "low_latency";
  constexpr const char* two_ways = "low_latency_two_shot";
  for (const auto& [pattern, variant, world, m, k, added_us] : {
           Measured{scatter, one_way, 2, 16, 3584, 3.4}, {scatter, one_way, 2, 64, 3584, 4.0},
           {scatter, one_way, 2, 128, 3584, 6.0},        {scatter, one_way, 2, 256, 3584, 14.5},
           {scatter, one_way, 2, 32, 1024, 3.1},         {scatter, one_way, 2, 128, 1024, 6.1},
           {scatter, one_way, 2, 256, 1024, 14.2},       {scatter, one_way, 4, 64, 1024, 4.9},
           {scatter, one_way, 4, 128, 1024, 8.0},        {scatter, one_way, 4, 256, 1024, 16.5},
           {reduce, one_way, 2, 16, 3584, 3.2},          {reduce, one_way, 2, 64, 3584, 5.5},
           {reduce, one_way, 2, 32, 1024, 3.6},          {reduce, one_way, 2, 64, 1024, 5.7},
           {reduce, one_way, 4, 16, 1024, 4.9},          {reduce, one_way, 4, 64, 1024, 14.4},
           {reduce, two_ways, 2, 64, 1024, 6.0},         {reduce, two_ways, 2, 256, 1024, 19.6},
           {reduce, two_ways, 4, 16, 1024, 4.6},         {reduce, two_ways, 4, 64, 1024, 9.2},
           {reduce, two_ways, 4, 64, 3584, 9.4},         {reduce, two_ways, 4, 128, 1024, 15.3},
           {reduce, two_ways, 4, 128, 3584, 17.4},
       }) {
    const double alone_us = plan("matmul", shape(1, m, k), "sm_90a").prediction.time_us;
    const double us = plan(pattern, shape(world, m, k) + ", variant: " + variant, "sm_90a").prediction.time_us;
    EXPECT_NEAR(us - alone_us, added_us, 1 + added_us / 10)
        << pattern << " " << variant << " " << world << " " << m << " " << k;
  }
}

/// Two ping-pong buffers with a message of each rank, of lines of 16 bytes, as many for each row of a tile; and the
/// images of blocks that hold tiles nowhere else.
TEST(ProductLines, HaveRoomForAMessageOfEachRank) {
  const auto workspace = [](const char* pattern, const char* variant, const std::string& text, const char* target) {
    return plan(pattern, "variant: " + std::string(variant) + ", " + text, target).kernels.at(0).workspace.terms;
  };
  const std::string odd = "world: 3, layout: {b: nk}, shape: {m: 9, n: 330, k: 72}, dtype: ";
  const std::string narrow = ", config: {tile_n: 64}";
  const auto of_rows = workspace("matmul_reduce_scatter", "low_latency", odd + "bf16" + narrow, "sm_90a");
  ASSERT_EQ(of_rows.size(), 1u);
  EXPECT_EQ(of_rows[0].bytes, 2 * 3 * 3 * 6 * 16 * 16);  // six tiles of 64 columns, each 16 lines of 4
  const auto of_all = workspace("matmul_all_reduce", "low_latency", odd + "tf32" + narrow, "sm_90a");
  ASSERT_EQ(of_all.size(), 1u);
  EXPECT_EQ(of_all[0].bytes, 2 * 3 * 9 * 6 * 32 * 16);
  const auto in_two_ways = workspace("matmul_all_reduce", "low_latency_two_shot", odd + "bf16" + narrow, "sm_90a");
  ASSERT_EQ(in_two_ways.size(), 1u);
  EXPECT_EQ(in_two_ways[0].bytes, 2 * 2 * 3 * 43 * 6 * 16 * 16);  // of 128 rows each rank has 43
  const auto with_images = workspace("matmul_all_reduce", "low_latency", odd + "bf16, config: {blocks: 5}", "host");
  ASSERT_EQ(with_images.size(), 2u);
  EXPECT_EQ(with_images[0].bytes, 2 * 3 * 9 * 21 * 3 * 16);  // tiles of 16 columns, each three lines of 6
  EXPECT_EQ(with_images[1].bytes, 2 * 5 * 16 * 16 * 2);
}

/// Lines of 12 bytes where a rank sends more than 256 KiB.
TEST(ProductLines, AreWideWhereTheyCarryMuch) {
  const auto of_line = [](const char* variant, const std::string& text, const char* target) {
    return plan("matmul_all_reduce", "variant: " + std::string(variant) + ", layout: {b: nk}, world: 2, " + text,
                target)
        .kernels.at(0)
        .number("line");
  };
  const std::string at_most = "shape: {m: 16, n: 8192, k: 64}, dtype: ";
  const std::string more = "shape: {m: 17, n: 8192, k: 64}, dtype: ";
  for (const char* variant : {"low_latency", "low_latency_two_shot"}) {
    EXPECT_EQ(of_line(variant, at_most + "bf16", "sm_90a"), 4) << variant;
    EXPECT_EQ(of_line(variant, more + "bf16", "sm_90a"), 6) << variant;
    EXPECT_EQ(of_line(variant, more + "tf32", "sm_90a"), 3) << variant;
    EXPECT_EQ(of_line(variant, more + "f64", "sm_90a"), 1) << variant << ": an element has 8 bytes";
    EXPECT_EQ(of_line(variant, more + "bf16", "gfx942"), 4) << variant << ": 64 bits are written as a whole";
  }
}

/// Of those that a thread sums no more are in flight than there are.
TEST(ProductLines, AreWaitedForTogether) {
  const auto in_flight = [](const char* pattern, const char* variant, std::int64_t m) {
    return plan(pattern, shape(4, m, 1024) + ", variant: " + variant, "sm_90a").kernels.at(0).number("unroll");
  };
  EXPECT_EQ(in_flight("matmul_reduce_scatter", "low_latency", 16), 1);
  EXPECT_EQ(in_flight("matmul_reduce_scatter", "low_latency", 128), 2);   // 32 rows of 11 lines, for 256 threads
  EXPECT_EQ(in_flight("matmul_reduce_scatter", "low_latency", 1024), 4);  // as many as registers hold
  EXPECT_EQ(in_flight("matmul_all_reduce", "low_latency_two_shot", 64), 1);
  EXPECT_EQ(in_flight("matmul_all_reduce", "low_latency_two_shot", 1024), 2);  // beside those that go to all
}

}  // namespace
}  // namespace irisgen::product_lines_test
