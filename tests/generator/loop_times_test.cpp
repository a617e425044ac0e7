#include "generator/plan/loop_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/generator/samples.hpp"

namespace irisgen::loop_times_test {
namespace {

/// On 132 compute units 320 tiles of 256 columns take 3 turns, 640 of 128 columns 5 of half the length.
TEST(MainLoop, TakesTheTileThatLeavesFewestUnitsIdle) {
  const auto tile_n = [](const std::string& shape) {
    return plan("matmul", "variant: tiled, world: 1, dtype: bf16, shape: {" + shape + "}", "sm_90a")
        .kernels[0]
        .number("tile_n");
  };
  EXPECT_EQ(tile_n("m: 8192, n: 8192, k: 8192"), 256);
  EXPECT_EQ(tile_n("m: 8192, n: 1280, k: 8192"), 128);
  EXPECT_EQ(tile_n("m: dynamic, n: 8192, k: 8192"), 256);
  EXPECT_EQ(tile_n("m: 16, n: 8192, k: 8192"), 64);  // 128 units read B
}

/// Narrower tiles arrive or leave sooner: those of 192 columns only where nobody sums parts of them.
TEST(MainLoop, TakesTheTileThatSuitsTheLinks) {
  const auto tile_n = [](const std::string& pattern, const std::string& shape) {
    return plan(pattern, "world: 2, dtype: bf16, shape: {" + shape, "sm_90a").kernels.back().number("tile_n");
  };
  // As they were fastest, of 256, 192 and 128 columns, on two H200s; sums on two H100s.
  const std::string gather = "m: 4096, n: 1280, k: 8192}, variant: ";
  EXPECT_EQ(tile_n("all_gather_matmul", gather + "workgroup_specialized"), 192);
  EXPECT_EQ(tile_n("all_gather_matmul", gather + "producer_consumer"), 128);
  EXPECT_EQ(tile_n("all_gather_matmul", "m: 16384, n: 1280, k: 8192}, variant: producer_consumer"), 256);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 8192, n: 8192, k: 1024}"), 256);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 1024, n: 8192, k: 1024}"), 256);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 512, n: 8192, k: 3584}"), 128);
  for (int n = 1000; n < 3000; n += 200) {
    EXPECT_NE(tile_n("matmul_all_reduce", "m: 4096, k: 8192, n: " + std::to_string(n) + "}, variant: fused_sequential"),
              192)
        << n;
  }
}

/// More blocks than run side by side make a product no faster.
TEST(MainLoop, IsPredictedByTheBlocksThatRunAtOnce) {
  for (const char* dtype : {"bf16", "f32", "f64"}) {
    const auto predicted = [&](const std::string& config) {
      return plan("matmul",
                  "variant: tiled, world: 1, dtype: " + std::string(dtype) + ", shape: {m: 4096, n: 4096, k: 512}" +
                      config,
                  "sm_90a")
          .prediction.time_us;
    };
    EXPECT_NEAR(predicted(", config: {blocks: 2048}"), predicted(""), 0.01) << dtype;
    EXPECT_GT(predicted(", config: {blocks: 16}"), 4 * predicted("")) << dtype;
  }
}

/// Rows that go first cost their time before the product's.
TEST(MainLoop, PredictsThatRowsGoFirstWhereTheyCannotGoBeside) {
  const std::string shape = "world: 8, dtype: f32, shape: {m: 8192, n: 128, k: 8192}, variant: ";
  const auto predicted = [&](const std::string& variant) {
    return plan("all_gather_matmul", shape + variant, "sm_90a").prediction.time_us;
  };
  EXPECT_GT(predicted("fused_sequential"), predicted("bulk_synchronous") - 50);
}

/// What was the fastest variant where all were measured, on four H200s on 2026-11-22 and, of all_gather_matmul,
/// 2026-11-26.
TEST(MainLoop, ChoosesTheVariantThatWasFastest) {
  const auto chosen = [](const std::string& pattern, const std::string& shape) {
    return plan(pattern, "world: 4, dtype: bf16, shape: {" + shape + "}", "sm_90a").variant;
  };
  EXPECT_EQ(chosen("matmul_all_reduce", "m: 1024, n: 8192, k: 1024"), "fused_sequential");
  EXPECT_EQ(chosen("matmul_all_reduce", "m: 16384, n: 8192, k: 1024"), "fused_sequential");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1024, n: 1280, k: 8192"), "workgroup_specialized");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1024, n: 7168, k: 8192"), "workgroup_specialized");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 1280, k: 8192"), "workgroup_specialized");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 7168, k: 8192"), "producer_consumer");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 8192, n: 1280, k: 8192"), "producer_consumer");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 16384, n: 7168, k: 8192"), "producer_consumer");
}

/// `fused_sequential 128`: the variant, and the columns of its tiles.
std::string chosen(const std::string& pattern, const std::string& shape, int world = 2) {
  const Plan fused = plan(
      pattern, "world: " + std::to_string(world) + ", dtype: bf16, layout: {b: nk}, shape: {" + shape + "}", "sm_90a");
  const auto multiplies = [](const KernelPlan& kernel) { return kernel.main_loop().has_value(); };
  return fused.variant + " " + std::to_string(std::ranges::find_if(fused.kernels, multiplies)->number("tile_n"));
}

/// As it was on two H100s and on two H200s: narrow tiles beside blocks that sum take up to 1.5 times as long as wide
/// ones, and blocks that copy finished tiles up to 4 times as long as those that send their own.
TEST(MainLoop, SendsTilesFromWhereTheyAreMade) {
  EXPECT_EQ(chosen("matmul_reduce_scatter", "m: 512, n: 4096, k: 4096"), "fused_sequential 128");
  EXPECT_EQ(chosen("matmul_all_reduce", "m: 2048, n: 8192, k: 3584"), "fused_sequential 256");
  EXPECT_EQ(chosen("matmul_all_gather", "m: 1024, n: 4096, k: 4096"), "fused_sequential 128");
  EXPECT_TRUE(chosen("matmul_all_gather", "m: 1024, n: 8192, k: 1024").starts_with("fused_sequential"));
  EXPECT_TRUE(chosen("matmul_all_gather", "m: 4096, n: 8192, k: 1024").starts_with("fused_sequential"));
}

/// What was the fastest on two or four H200s, of most widths, with 4 blocks that push and 8, and by copy engines, or
/// within 3 % of it: 2026-11-26.
TEST(MainLoop, TakesTilesForRowsAsTheyCome) {
  EXPECT_EQ(chosen("all_gather_matmul", "m: 512, n: 4096, k: 4096"), "workgroup_specialized 128");
  EXPECT_TRUE(chosen("all_gather_matmul", "m: 1024, n: 4096, k: 4096").starts_with("workgroup_specialized"));
  EXPECT_TRUE(chosen("all_gather_matmul", "m: 16384, n: 1280, k: 8192").starts_with("producer_consumer"));
  EXPECT_EQ(chosen("all_gather_matmul", "m: 512, n: 3584, k: 8192"), "workgroup_specialized 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 512, n: 7168, k: 8192"), "workgroup_specialized 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1024, n: 1280, k: 8192"), "workgroup_specialized 96");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1024, n: 3584, k: 8192"), "workgroup_specialized 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2048, n: 1280, k: 8192"), "workgroup_specialized 192");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2048, n: 7168, k: 8192"), "producer_consumer 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 1280, k: 8192"), "workgroup_specialized 192");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 3584, k: 8192"), "producer_consumer 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 7168, k: 8192"), "producer_consumer 256");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 64, n: 7168, k: 8192", 4), "bulk_synchronous 64");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 256, n: 3584, k: 8192", 4), "rows_together 64");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 256, n: 7168, k: 8192", 4), "rows_together 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 384, n: 7168, k: 8192", 4), "rows_together 192");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 128, n: 14336, k: 8192", 4), "rows_together 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 512, n: 3584, k: 8192", 4), "workgroup_specialized 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 512, n: 7168, k: 8192", 4), "workgroup_specialized 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1024, n: 7168, k: 8192", 4), "workgroup_specialized 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2048, n: 1280, k: 8192", 4), "workgroup_specialized 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2048, n: 3584, k: 8192", 4), "workgroup_specialized 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2048, n: 7168, k: 8192", 4), "producer_consumer 224");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 1280, k: 8192", 4), "workgroup_specialized 128");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 4096, n: 3584, k: 8192", 4), "producer_consumer 224");
  // On four H100s, 2026-11-27: 353 µs, and 415 of 96 columns, 445 of 64.
  EXPECT_EQ(chosen("all_gather_matmul", "m: 8192, n: 1280, k: 8192", 4), "producer_consumer 128");
}

/// One chunk of each rank at a time took up to 38 % longer on four H100s, 2026-11-27.
TEST(MainLoop, TakesTwoChunksOfEachRankAtATime) {
  const auto band = [](int world, const std::string& columns) {
    const std::string shape = "m: 32768, k: 8192, n: " + columns;
    return plan("all_gather_matmul",
                "world: " + std::to_string(world) + ", dtype: bf16, variant: workgroup_specialized, shape: {" + shape +
                    "}, config: {tile_n: 256}",
                "sm_90a")
        .kernels[0]
        .number("tile_band");
  };
  EXPECT_EQ(band(4, "7168"), 2);
  EXPECT_EQ(band(8, "7168"), 2);
  EXPECT_EQ(band(4, "1280"), 5);  // as many as a turn takes
  EXPECT_EQ(band(2, "7168"), 4);
}

/// As it was on two H100s, of all widths and variants: operands of narrow tiles come from the cache all links and units
/// share, so that one pays where it leaves few units idle, and only there.
TEST(MainLoop, TakesNarrowTilesWhereTheirOperandsCome) {
  EXPECT_EQ(chosen("matmul_all_reduce", "m: 512, n: 8192, k: 3584"), "fused_sequential 128");
  for (const char* m : {"1024", "2048", "4096"}) {
    const std::string rows = std::string("m: ") + m;
    EXPECT_EQ(chosen("matmul_all_reduce", rows + ", n: 8192, k: 3584"), "fused_sequential 256");
    EXPECT_EQ(chosen("matmul_reduce_scatter", rows + ", n: 8192, k: 3584"), "fused_sequential 256");
  }
  EXPECT_EQ(chosen("matmul_all_reduce", "m: 1024, n: 8192, k: 1024"), "fused_sequential 128");
  EXPECT_EQ(chosen("matmul_reduce_scatter", "m: 1024, n: 8192, k: 1024"), "fused_sequential 256");
  EXPECT_EQ(chosen("matmul_reduce_scatter", "m: 1200, n: 4096, k: 4096"), "fused_sequential 128");
  // Whole tiles that read B at once, rather than parts of wide ones.
  EXPECT_EQ(chosen("all_gather_matmul", "m: 2, n: 3584, k: 8192"), "bulk_synchronous 64");
  EXPECT_EQ(chosen("matmul_all_gather", "m: 2, n: 3584, k: 8192"), "bulk_synchronous 64");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 64, n: 3584, k: 8192"), "bulk_synchronous 64");
  EXPECT_EQ(chosen("all_gather_matmul", "m: 1200, n: 4096, k: 4096"), "producer_consumer 160");
  EXPECT_EQ(chosen("matmul_all_gather", "m: 512, n: 3584, k: 8192"), "bulk_synchronous 64");
  EXPECT_EQ(chosen("matmul_all_gather", "m: 1024, n: 3584, k: 8192"), "fused_sequential 128");
  EXPECT_EQ(chosen("matmul_all_gather", "m: 4096, n: 3584, k: 8192"), "fused_sequential 256");
}

/// As it was on four H100s, of rows and of columns that all ranks get: what a product's own kernel sends it tells of,
/// and a collective in lines need not.
TEST(MainLoop, LeavesFewRowsToLines) {
  const auto of = [](const std::string& shard, int m, const std::string& rest) {
    const std::string columns = shard.empty() ? "8192" : "32768";
    return plan("matmul_all_gather",
                "world: 4, dtype: bf16, layout: {b: nk}, shape: {m: " + std::to_string(m) + ", n: " + columns +
                    ", k: 1024}" + shard + rest,
                "sm_90a");
  };
  const std::string by_columns = ", shard: n";
  for (const int m : {4, 16, 64, 128}) EXPECT_EQ(of("", m, "").variant, "bulk_synchronous") << m;
  for (const int m : {4, 16}) EXPECT_EQ(of(by_columns, m, "").variant, "bulk_synchronous") << m;
  for (const int m : {64, 256}) EXPECT_EQ(of(by_columns, m, "").variant, "fused_sequential") << m;

  struct Measured {
    std::string shard;
    int m;
    double sequential_us;  ///< longer than the product
    double synchronous_us;
  };
  for (const auto& [shard, m, sequential_us, synchronous_us] :
       {Measured{"", 4, 8.8, 3.1}, {"", 64, 9.7, 6.0}, {"", 256, 16.5, 17.3}, {by_columns, 64, 16.0, 16.6}}) {
    SCOPED_TRACE(std::to_string(m) + shard);
    const std::string rows = "m: " + std::to_string(shard.empty() ? m / 4 : m);
    const double alone_us =
        plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: 8192, k: 1024, " + rows + "}", "sm_90a")
            .prediction.time_us;
    const auto added_us = [&](const std::string& variant) {
      return of(shard, m, ", variant: " + variant).prediction.time_us - alone_us;
    };
    EXPECT_NEAR(added_us("fused_sequential"), sequential_us, 1 + sequential_us / 10);
    EXPECT_NEAR(added_us("bulk_synchronous"), synchronous_us, 1.5 + synchronous_us / 10);
  }
}

/// As it was on four H100s, 2026-11-27: what leaves does so behind the only turn. Beside links narrow tiles take
/// longer.
TEST(MainLoop, ReckonsOneTurnAsIfNothingCrossedLinks) {
  const auto of = [](const std::string& shape) {
    return plan("matmul_all_gather", "world: 4, dtype: bf16, layout: {b: nk}, shard: n, shape: {k: 8192, " + shape,
                "sm_90a");
  };
  const std::string sequential = "}, variant: fused_sequential";
  EXPECT_NEAR(of("n: 14336, m: 128" + sequential).prediction.time_us, 43.3, 4.3);
  EXPECT_NEAR(of("n: 14336, m: 256" + sequential).prediction.time_us, 54.0, 5.4);
  EXPECT_EQ(of("n: 14336, m: 256}").variant, "fused_sequential");
}

/// As it was on four H200s, or within 3 % of it: narrow tiles have left sooner after the last product, which counts
/// where there are few.
TEST(MainLoop, TakesNarrowTilesWhereSumsEndSooner) {
  const auto tile_n = [](const std::string& pattern, const std::string& shape) {
    return plan(pattern, "world: 4, dtype: bf16, variant: fused_sequential, shape: {" + shape + "}", "sm_90a")
        .kernels[0]
        .number("tile_n");
  };
  for (const char* pattern : {"matmul_reduce_scatter", "matmul_all_reduce"}) {
    for (const char* rows : {"512", "1024", "2048"}) {
      const std::string shape = std::string("m: ") + rows + ", n: 8192, k: 1024";
      EXPECT_EQ(tile_n(pattern, shape), 128) << pattern << rows;
    }
    EXPECT_EQ(tile_n(pattern, "m: 512, n: 8192, k: 3584"), 128) << pattern;
    for (const char* rows : {"2048", "4096", "8192", "16384"}) {
      const std::string shape = std::string("m: ") + rows + ", n: 8192, k: 3584";
      EXPECT_EQ(tile_n(pattern, shape), 256) << pattern << rows;
    }
  }
  EXPECT_EQ(tile_n("matmul_all_reduce", "m: 1024, n: 8192, k: 3584"), 128);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 4096, n: 8192, k: 1024"), 256);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 8192, n: 8192, k: 1024"), 256);
  EXPECT_EQ(tile_n("matmul_reduce_scatter", "m: 16384, n: 8192, k: 1024"), 256);
}

struct Measured {
  int world;
  const char* pattern;
  const char* shape;
  const char* variant;
  const char* config;
  double us;
};
void expect_predicted(const std::vector<Measured>& all, double within) {
  for (const Measured& at : all) {
    const Plan fused = plan(at.pattern,
                            "world: " + std::to_string(at.world) + ", dtype: bf16, layout: {b: nk}, shape: {" +
                                at.shape + "}, variant: " + at.variant + ", config: {" + at.config + "}",
                            "sm_90a");
    EXPECT_NEAR(fused.prediction.time_us / at.us, 1, within)
        << at.pattern << " " << at.shape << ", " << at.world << " ranks, " << at.variant << ", " << at.config;
  }
}

/// What was measured on four H200s, and on two of them, in µs, on 2026-11-26.
TEST(MainLoop, PredictsHowLongSumsWereMeasuredToTake) {
  constexpr const char* scatter = "matmul_reduce_scatter";
  constexpr const char* reduce = "matmul_all_reduce";
  constexpr const char* fused = "fused_sequential";
  expect_predicted({{4, scatter, "m: 512, n: 8192, k: 1024", fused, "tile_n: 128", 34.2},
                    {4, scatter, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 128", 95.0},
                    {4, scatter, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 256", 98.3},
                    {4, scatter, "m: 4096, n: 8192, k: 3584", fused, "tile_n: 256", 350.0},
                    {4, scatter, "m: 4096, n: 8192, k: 1024", fused, "tile_n: 128", 181.8},
                    {4, scatter, "m: 4096, n: 8192, k: 1024", fused, "tile_n: 256", 180.5},
                    {4, reduce, "m: 256, n: 8192, k: 1024", fused, "tile_n: 128", 32.7},
                    {4, reduce, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 128", 113.3},
                    {4, reduce, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 256", 128.5},
                    {4, reduce, "m: 4096, n: 8192, k: 3584", fused, "tile_n: 256", 396.4},
                    {4, reduce, "m: 4096, n: 8192, k: 1024", fused, "tile_n: 256", 309.9},
                    {2, scatter, "m: 512, n: 8192, k: 3584", fused, "tile_n: 256", 56.8},
                    {2, scatter, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 256", 89.6},
                    {2, scatter, "m: 4096, n: 8192, k: 3584", fused, "tile_n: 256", 347.2},
                    {2, scatter, "m: 4096, n: 8192, k: 1024", fused, "tile_n: 256", 134.2},
                    {2, scatter, "m: 8192, n: 8192, k: 1024", fused, "tile_n: 256", 245.4},
                    {2, reduce, "m: 1024, n: 8192, k: 3584", fused, "tile_n: 256", 109.1},
                    {2, reduce, "m: 4096, n: 8192, k: 3584", fused, "tile_n: 256", 343.2},
                    {2, reduce, "m: 1024, n: 8192, k: 1024", fused, "tile_n: 128", 61.0}},
                   0.1);
}

/// The same of rows that are gathered, by 4 blocks or 8, or by copy engines.
TEST(MainLoop, PredictsHowLongGatheringWasMeasuredToTake) {
  constexpr const char* gather = "all_gather_matmul";
  constexpr const char* blocks = "workgroup_specialized";
  constexpr const char* engine = "producer_consumer";
  expect_predicted({{4, gather, "m: 512, n: 7168, k: 8192", blocks, "tile_n: 224, comm_blocks: 4", 94.6},
                    {4, gather, "m: 1024, n: 1280, k: 8192", blocks, "tile_n: 128, comm_blocks: 8", 58.5},
                    {4, gather, "m: 1024, n: 1280, k: 8192", blocks, "tile_n: 128, comm_blocks: 4", 87.8},
                    {4, gather, "m: 1024, n: 7168, k: 8192", blocks, "tile_n: 224, comm_blocks: 4", 182.2},
                    {4, gather, "m: 1024, n: 7168, k: 8192", blocks, "tile_n: 224, comm_blocks: 8", 230.2},
                    {4, gather, "m: 128, n: 4096, k: 4096", blocks, "tile_n: 128, comm_blocks: 4", 28.3},
                    {4, gather, "m: 256, n: 4096, k: 4096", blocks, "tile_n: 128, comm_blocks: 4", 31.9},
                    {4, gather, "m: 512, n: 4096, k: 4096", blocks, "tile_n: 128, comm_blocks: 4", 42.3},
                    {4, gather, "m: 4096, n: 1280, k: 8192", blocks, "tile_n: 128, comm_blocks: 8", 173.6},
                    {4, gather, "m: 4096, n: 7168, k: 8192", blocks, "tile_n: 256, comm_blocks: 4", 706.2},
                    {4, gather, "m: 2048, n: 1280, k: 8192", blocks, "tile_n: 96, comm_blocks: 8", 119.9},
                    {4, gather, "m: 2048, n: 3584, k: 8192", blocks, "tile_n: 256, comm_blocks: 4", 218.3},
                    {4, gather, "m: 1024, n: 1280, k: 8192", engine, "tile_n: 128", 102.1},
                    {4, gather, "m: 1024, n: 3584, k: 8192", engine, "tile_n: 128", 121.0},
                    {4, gather, "m: 2048, n: 3584, k: 8192", engine, "tile_n: 256", 208.7},
                    {4, gather, "m: 1024, n: 7168, k: 8192", engine, "tile_n: 256", 205.2},
                    {4, gather, "m: 1024, n: 7168, k: 8192", engine, "tile_n: 224", 193.7},
                    {4, gather, "m: 4096, n: 3584, k: 8192", engine, "tile_n: 224", 318.3},
                    {4, gather, "m: 4096, n: 7168, k: 8192", engine, "tile_n: 256", 697.5},
                    {4, gather, "m: 16384, n: 1280, k: 8192", engine, "tile_n: 160", 629.6},
                    {2, gather, "m: 512, n: 3584, k: 8192", blocks, "tile_n: 128, comm_blocks: 8", 52.1},
                    {2, gather, "m: 1024, n: 1280, k: 8192", blocks, "tile_n: 96, comm_blocks: 8", 45.9},
                    {2, gather, "m: 2048, n: 1280, k: 8192", blocks, "tile_n: 192, comm_blocks: 4", 123.9},
                    {2, gather, "m: 4096, n: 1280, k: 8192", blocks, "tile_n: 192, comm_blocks: 8", 132.2},
                    {2, gather, "m: 4096, n: 1280, k: 8192", engine, "tile_n: 128", 150.7},
                    {2, gather, "m: 4096, n: 7168, k: 8192", engine, "tile_n: 256", 687.1}},
                   0.12);
}

/// On two H200s, 2026-11-28, and on four, there where rows had another layout.
TEST(MainLoop, PredictsHowLongRowsTogetherWereMeasuredToTake) {
  constexpr const char* gather = "all_gather_matmul";
  constexpr const char* together = "rows_together";
  expect_predicted({{2, gather, "m: 64, n: 7168, k: 8192", together, "", 41.3},
                    {2, gather, "m: 128, n: 7168, k: 8192", together, "", 45.8},
                    {2, gather, "m: 256, n: 7168, k: 8192", together, "", 56.3},
                    {2, gather, "m: 384, n: 7168, k: 8192", together, "", 75.6},
                    {2, gather, "m: 768, n: 7168, k: 8192", together, "", 142},
                    {2, gather, "m: 256, n: 3584, k: 8192", together, "", 42.9},
                    {2, gather, "m: 512, n: 3584, k: 8192", together, "", 62.9},
                    {2, gather, "m: 1024, n: 1280, k: 8192", together, "", 79.8},
                    {4, gather, "m: 256, n: 7168, k: 8192", together, "", 53.0},
                    {4, gather, "m: 256, n: 3584, k: 8192", together, "", 38.1},
                    {4, gather, "m: 1024, n: 1280, k: 8192", together, "", 69.9}},
                   0.11);
}

/// Tiles leave as fast as links carry those of all blocks, 336 bytes in a nanosecond, or so fast that each has arrived,
/// 7 µs after it has left, before the next is made.
TEST(MainLoop, ShipsTilesAtThePaceOfTheLinks) {
  const auto kernel = [](const std::string& pattern, const std::string& rest, const char* target = "sm_90a") {
    return plan(pattern, "world: 4, dtype: bf16, shape: {m: 4096, n: 8192, k: " + rest, target).kernels[0];
  };
  const auto ship_ns = [&](const std::string& pattern, const std::string& rest) {
    return kernel(pattern, rest).number("ship_ns");
  };
  const std::string wide = "}, variant: fused_sequential, config: {tile_n: 256}";
  constexpr std::int64_t of_all_blocks = 132 * 128 * 256 * 2 / 336;
  for (const char* pattern : {"matmul_reduce_scatter", "matmul_all_reduce"}) {
    EXPECT_NEAR(ship_ns(pattern, "3584" + wide), of_all_blocks, 1) << pattern;
    EXPECT_NEAR(ship_ns(pattern, "dynamic" + wide), of_all_blocks, 1) << pattern;
    EXPECT_NEAR(ship_ns(pattern, "3584}, variant: fused_sequential, config: {tile_n: 128}"), 132 * 128 * 128 * 2 / 336,
                1)
        << pattern;
    EXPECT_NEAR(ship_ns(pattern, "3584}, variant: workgroup_specialized, config: {tile_n: 256, comm_blocks: 32}"),
                100 * 128 * 256 * 2 / 336, 1)
        << pattern;
    const std::int64_t shallow = ship_ns(pattern, "1024" + wide);  // a tile takes 11 to 13 µs
    EXPECT_GE(shallow, 4000) << pattern;
    EXPECT_LE(shallow, 6000) << pattern;
    EXPECT_EQ(ship_ns(pattern, "256" + wide), 0) << pattern;
  }
  const KernelPlan on_amd = kernel("matmul_reduce_scatter", "3584}, variant: fused_sequential", "gfx942");
  EXPECT_EQ(std::ranges::find(on_amd.constants, "ship_ns", &Constant::name), on_amd.constants.end());
}

}  // namespace
}  // namespace irisgen::loop_times_test
