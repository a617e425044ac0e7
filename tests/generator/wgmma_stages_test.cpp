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
                              "config: {tile_m: 128, tile_n: " +
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

/// What the second warpgroup hands over takes more than a tile of 64 rows that leaves in 16 bits.
TEST(MainLoop, HoldsTheSumsOfTheSecondWarpgroup) {
  for (const int tile_n : {64, 128}) {
    const KernelPlan kernel = plan("matmul",
                                   "world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 512, n: 512, k: 4096}, "
                                   "config: {tile_m: 64, tile_n: " +
                                       std::to_string(tile_n) + "}",
                                   "sm_90a")
                                  .kernels[0];
    const std::int64_t finished = tile_n == 64 ? 64 * 64 * 4 : 64 * (128 + 8) * 2;
    const std::int64_t stages = kernel.number("stages");
    EXPECT_LE(stages * (64 + tile_n) * 128 + finished + 1024, 227 * 1024) << tile_n;
    EXPECT_GT((stages + 1) * (64 + tile_n) * 128 + finished + 1024, 227 * 1024) << tile_n;
  }
}

TEST(MainLoop, TakesStagesInTurnWhereOneWarpgroupHasAllRows) {
  const auto groups = [](const std::string& pattern, const std::string& rest) {
    return plan(pattern, "dtype: bf16, layout: {b: nk}, " + rest, "sm_90a").kernels[0].number("stage_groups");
  };
  const std::string tiled = "variant: tiled, world: 1, shape: ";
  EXPECT_EQ(groups("matmul", tiled + "{m: 1, n: 4096, k: 4096}"), 2);
  EXPECT_EQ(groups("matmul", tiled + "{m: 64, n: 4096, k: 1024}"), 2);
  EXPECT_EQ(groups("matmul", tiled + "{m: 64, n: 4096, k: 1016}"), 1) << "15 stages, and a part of one";
  EXPECT_EQ(groups("matmul", tiled + "{m: 64, n: 4096, k: dynamic}"), 1);
  EXPECT_EQ(groups("matmul", tiled + "{m: dynamic, n: 4096, k: 4096}"), 1);
  EXPECT_EQ(groups("matmul", tiled + "{m: 128, n: 4096, k: 4096}"), 2) << "two tiles of 64 rows";
  EXPECT_EQ(groups("matmul", tiled + "{m: 128, n: 4096, k: 4096}, config: {tile_m: 128}"), 1);
  EXPECT_EQ(groups("matmul", tiled + "{m: 64, n: 4096, k: 4096}, config: {tile_n: 96}"), 2);
  EXPECT_EQ(groups("matmul", tiled + "{m: 64, n: 4096, k: 4096}, config: {tile_n: 128}"), 1);
  EXPECT_EQ(groups("matmul", "variant: split_k, world: 1, shape: {m: 16, n: 128, k: 16384}, config: {parts: 2}"), 1);
  const std::string fused = "world: 2, config: {tile_n: 64}, shape: {m: 64, n: 4096, k: 8192}, variant: ";
  EXPECT_EQ(groups("matmul_reduce_scatter", fused + "low_latency"), 2);
  EXPECT_EQ(groups("all_gather_matmul", fused + "fused_sequential"), 1) << "which waits for operands";
}

/// Where they are enough for one turn of the compute units, and no more.
TEST(MainLoop, TakesTilesOfOneWarpgroupsRows) {
  const auto tiles = [](const std::string& shape) {
    const KernelPlan kernel =
        plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: " + shape, "sm_90a").kernels[0];
    return std::to_string(kernel.number("tile_m")) + " x " + std::to_string(kernel.number("tile_n"));
  };
  EXPECT_EQ(tiles("{m: 128, n: 4096, k: 4096}"), "64 x 64");
  EXPECT_EQ(tiles("{m: 256, n: 2048, k: 2048}"), "64 x 64");
  EXPECT_EQ(tiles("{m: 130, n: 4096, k: 4096}"), "64 x 128");
  EXPECT_EQ(tiles("{m: 130, n: 28672, k: 8192}"), "128 x 224") << "of 64 rows there would be 672";
  EXPECT_EQ(tiles("{m: 4096, n: 4096, k: 4096}"), "128 x 256");
  EXPECT_EQ(tiles("{m: 4096, n: 4096, k: 4096}, config: {tile_m: 64}"), "64 x 128");
  const auto obstacle = [](const std::string& rest) {
    const std::string start =
        "variant: tiled, world: 1, layout: {b: nk}, shape: {m: 512, n: 512, k: 512}, config: {tile_m: 64";
    const KernelPlan kernel = plan("matmul", start + rest, "sm_90a").kernels[0];
    EXPECT_NE(kernel.main_loop(), MainLoop::wgmma);
    const std::string& reason = kernel.constants.front().reason;
    return reason.substr(reason.find("they take"), reason.find("; nor") - reason.find("they take"));
  };
  EXPECT_EQ(obstacle(", tile_n: 32}, dtype: bf16"), "they take a tile_n of 128 or 64 for a tile_m of 64");
  EXPECT_EQ(obstacle(", tile_n: 128}, dtype: e4m3"), "they take a tile_n of 64 for a tile_m of 64");
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
  EXPECT_EQ(kernel("121").number("stage_rows"), 64) << "of two tiles";
  EXPECT_EQ(kernel("250").number("stage_rows"), 128);
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
