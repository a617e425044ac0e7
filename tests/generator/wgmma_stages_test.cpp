#include "generator/plan/wgmma_stages.hpp"

#include <gtest/gtest.h>

#include "tests/generator/samples.hpp"

namespace irisgen::wgmma_stages_test {
namespace {

/// Beside a finished tile, the stages fill the shared memory of an SM, of which a kernel can have 227 KiB.
TEST(MainLoop, HoldsAsManyStagesAsFit) {
  for (int tile_n = 64; tile_n <= 256; tile_n += 32) {
    const Plan product = plan("matmul",
                              "world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 512, n: 512, k: 512}, "
                              "config: {tile_n: " +
                                  std::to_string(tile_n) + "}",
                              "sm_90a");
    const std::int64_t stages = product.kernels[0].number("stages");
    EXPECT_GE(stages, 3);
    const auto bytes_of = [&](std::int64_t held) {
      return held * (128 + tile_n) * 64 * 2 + 128 * (tile_n + 8) * 2 + 1024;
    };
    EXPECT_LE(bytes_of(stages), 227 * 1024) << tile_n;
    EXPECT_GT(bytes_of(stages + 1), 227 * 1024) << tile_n;
  }
}

/// Two pieces that are sent beside the products take the place of stages.
TEST(MainLoop, LeavesRoomForWhatIsSentBesideTheProducts) {
  const auto kernel = [](const std::string& m) {
    return plan("all_gather_matmul",
                "variant: fused_sequential, world: 2, dtype: bf16, config: {tile_n: 128}, shape: {n: 8192, k: 8192, "
                "m: " +
                    m + "}",
                "sm_90a")
        .kernels[0];
  };
  EXPECT_EQ(kernel("8192").number("box_rows"), 64);
  EXPECT_EQ(kernel("8192").number("stages"), 5);
  EXPECT_EQ(kernel("8192").maps.at(0).box_rows, 64);
  EXPECT_EQ(kernel("224").number("box_rows"), 56);
  EXPECT_EQ(kernel("208").number("box_rows"), 104);  // of two halves one would begin within eight swizzled rows
  EXPECT_EQ(kernel("48").number("box_rows"), 24);
}

/// Rows that do not exist take no place, in groups of eight.
TEST(MainLoop, HoldsTheRowsThatThereAre) {
  const auto kernel = [](const std::string& m) {
    return plan("matmul", "variant: tiled, world: 1, dtype: bf16, shape: {n: 8192, k: 8192, m: " + m + "}", "sm_90a")
        .kernels[0];
  };
  EXPECT_EQ(kernel("0").number("stage_rows"), 8);
  EXPECT_EQ(kernel("1").number("stage_rows"), 8);
  EXPECT_EQ(kernel("17").number("stage_rows"), 24);
  EXPECT_EQ(kernel("17").maps.at(0).box_rows, 24);
  EXPECT_EQ(kernel("121").number("stage_rows"), 128);
  EXPECT_EQ(kernel("500").number("stage_rows"), 128);
  EXPECT_EQ(kernel("dynamic").number("stage_rows"), 128);
  EXPECT_EQ(kernel("1").number("stages"), 16);
}

/// The last box of a rank's rows has what is left of them, in groups of eight, where that is less than a box.
TEST(MainLoop, HasAMapForTheLastBoxOfRows) {
  const auto maps_of = [](const std::string& pattern, const std::string& m) {
    return plan(pattern.substr(0, pattern.find(',')),
                pattern.substr(pattern.find("variant:")) +
                    ", world: 4, dtype: bf16, config: {tile_n: 128}, shape: {n: 256, k: 512, m: " + m + "}",
                "sm_90a")
        .kernels[0]
        .maps;
  };
  const auto last_of = [&](const std::string& pattern, const std::string& m) {
    std::vector<iris::Dimension> last;
    for (const iris::MatrixMap& map : maps_of(pattern, m)) {
      if (map.last_of) last.push_back(*map.last_of);
    }
    return last;
  };
  const auto none = std::vector<iris::Dimension>();
  EXPECT_EQ(last_of("matmul, variant: tiled", "256"), none);
  EXPECT_EQ(last_of("matmul, variant: tiled", "121"), none) << "128 rows in a stage";
  EXPECT_EQ(last_of("matmul, variant: tiled", "249"), none);
  EXPECT_EQ(last_of("matmul, variant: tiled", "248"), std::vector({iris::Dimension{"m"}}));
  EXPECT_EQ(last_of("matmul, variant: tiled", "dynamic"), std::vector({iris::Dimension{"m"}}));
  EXPECT_EQ(maps_of("matmul, variant: tiled", "200").at(1).buffer, "a");
  EXPECT_EQ(last_of("matmul_reduce_scatter, variant: fused_sequential", "1024"), none);
  EXPECT_EQ(last_of("matmul_reduce_scatter, variant: fused_sequential", "768"),
            std::vector({iris::Dimension{"m", 1, 4}}));
  EXPECT_EQ(last_of("matmul_all_reduce, variant: fused_sequential", "800"), std::vector({iris::Dimension{"m"}}));
  EXPECT_EQ(last_of("all_gather_matmul, variant: fused_sequential", "768"), none) << "in boxes of 64";
  EXPECT_EQ(last_of("all_gather_matmul, variant: fused_sequential", "800"), std::vector({iris::Dimension{"m", 1, 4}}));
}

TEST(MainLoop, CountsTheRowsOfTheLastBoxInEights) {
  using iris::rows_of_last_box;
  EXPECT_EQ(rows_of_last_box(128, 128), 128);
  EXPECT_EQ(rows_of_last_box(128, 129), 8);
  EXPECT_EQ(rows_of_last_box(128, 192), 64);
  EXPECT_EQ(rows_of_last_box(128, 201), 80);
  EXPECT_EQ(rows_of_last_box(128, 250), 128);
  EXPECT_EQ(rows_of_last_box(128, 5), 8);
  EXPECT_EQ(rows_of_last_box(128, 0), 128);
  EXPECT_EQ(rows_of_last_box(56, 112), 56);
  EXPECT_EQ(rows_of_last_box(24, 17), 24);
}

}  // namespace
}  // namespace irisgen::wgmma_stages_test
