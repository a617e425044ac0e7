#include "generator/plan/matmul_planning.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/generator/samples.hpp"

namespace irisgen::matmul_planning_test {
namespace {

constexpr const char* layer = "variant: workgroup_specialized, dtype: f32, world: 8, shape: {m: 1792, n: 32, k: 256}";

TEST(Workspace, HoldsTheTilesOfEveryRank) {
  const auto slots = [](const std::string& pattern, const std::string& rest, const std::string& target) {
    return plan(pattern, "variant: fused_sequential, world: 2, " + rest, target).kernels.at(0).workspace.terms;
  };
  using Terms = std::vector<iris::ByteSize::Term>;
  // 300 of 600 rows in 3 tiles, 520 columns in 3.
  const std::string wide = "dtype: bf16, config: {tile_n: 256}, shape: {n: 520, k: 64, m: ";
  constexpr std::int64_t image = 128 * 256 * 2;
  EXPECT_EQ(slots("matmul_reduce_scatter", wide + "600}", "sm_90a"), Terms({{2 * 2 * 3 * 3 * image, {}}}));
  // All 601 rows in 5, of whose 15 tiles a rank has 8, or 7 and room for one.
  EXPECT_EQ(slots("matmul_all_reduce", wide + "601}", "sm_90a"), Terms({{2 * 5 * 3 * image, {}}, {2 * image, {}}}));
  // One row of tiles, and one more for each 128 rows.
  EXPECT_EQ(slots("matmul_all_reduce", wide + "dynamic}", "sm_90a"),
            Terms({{2 * 3 * image, {}}, {2 * 3 * image / 128, {"m"}}, {2 * image, {}}}));
  const std::string narrow = "dtype: f64, config: {tile_m: 16, tile_n: 16, tile_k: 16}, shape: {n: dynamic, k: 3, m: ";
  constexpr std::int64_t small = 16 * 16 * 8;
  EXPECT_EQ(slots("matmul_reduce_scatter", narrow + "66}", "host"),
            Terms({{2 * 2 * 3 * small, {}}, {2 * 2 * 3 * small / 16, {"n"}}}));
  EXPECT_EQ(slots("matmul_reduce_scatter", narrow + "dynamic}", "host"),
            Terms({{2 * 2 * small, {}},
                   {2 * 2 * small / 32, {"m"}},
                   {2 * 2 * small / 16, {"n"}},
                   {2 * 2 * small / (32 * 16), {"m", "n"}}}));
}

TEST(Workspace, HoldsGatheredRowsAsTheMainLoopReadsThem) {
  const auto bytes = [](const std::string& rest, const std::string& target) {
    const std::string variant = "variant: workgroup_specialized, world: 2, ";
    return plan("all_gather_matmul", variant + rest, target).kernels.at(0).workspace.terms.at(0).bytes;
  };
  // 300 rows in 3 chunks of 128, 72 columns in 2 stages of 64.
  EXPECT_EQ(bytes("dtype: bf16, shape: {m: 600, n: 64, k: 72}", "sm_90a"), 2 * 2 * 3 * 2 * 128 * 64 * 2);
  EXPECT_EQ(bytes("dtype: bf16, shape: {m: 40, n: 64, k: 72}", "sm_90a"), 2 * 2 * 2 * 24 * 64 * 2);
  // As they are, but aligned.
  EXPECT_EQ(bytes("dtype: f32, shape: {m: 6, n: 64, k: 5}", "sm_90a"), 2 * 256);
}

TEST(Tiles, FitThreadsAndSharedMemory) {
  const auto config = [](const std::string& words) { return std::string(layer) + ", config: {" + words + "}"; };
  expect_refused("all_gather_matmul", config("tile_m: 16, tile_n: 24, threads: 64"), "gfx942",
                 "write powers of two for tile_m, tile_n and threads");
  expect_refused("all_gather_matmul", config("threads: 64, tile_m: 128"), "gfx942", "from 1 to 64 times as many");
  expect_refused("matmul_reduce_scatter", config("tile_k: 512"), "sm_90a", "bytes of shared memory");
  expect_refused("all_gather_matmul", config("comm_blocks: 4, blocks: 4"), "gfx942", "comm_blocks must be from 1 to 3");
  expect_refused("all_gather_matmul", config("tile_k: 3"), "host", "cut accesses of 16 bytes");
  // Results of 2 bytes are summed eight at a time, whatever the operands' vector.
  expect_refused("matmul_reduce_scatter",
                 "variant: fused_sequential, dtype: f16, world: 2, shape: {m: 64, n: 24, k: 32}, config: {vector: 4, "
                 "threads: 192, tile_m: 48, tile_n: 12, tile_k: 16}",
                 "host", "of 8 for tile_n");
  expect_planned("all_gather_matmul", config("tile_m: 32, tile_n: 128, tile_k: 32"), "gfx942");
}

/// As they were fastest on one H200 and, of up to 768 rows, on H100s.
TEST(SplitK, IsTakenWhereTilesAreFew) {
  const auto chosen = [](const std::string& shape) {
    return plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {" + shape + "}", "sm_90a").variant;
  };
  EXPECT_EQ(chosen("m: 16, n: 1280, k: 8192"), "split_k");
  EXPECT_EQ(chosen("m: 64, n: 1280, k: 8192"), "split_k");
  EXPECT_EQ(chosen("m: 96, n: 1280, k: 8192"), "split_k");
  EXPECT_EQ(chosen("m: 1024, n: 1280, k: 8192"), "split_k");
  EXPECT_EQ(chosen("m: 1, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 64, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 8192, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 96, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 128, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 512, n: 1024, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 256, n: 2048, k: 2048"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 8192, k: 3584"), "tiled");
  EXPECT_EQ(chosen("m: 128, n: 7168, k: 2048"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 28672, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 512, n: 2048, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 1024, n: 2048, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 4096, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 1024, n: 8192, k: 3584"), "tiled");
}

/// Blocks of both kernels must fit on a compute unit, beside one another.
TEST(BulkSynchronous, BringsColumnsWhileFewRowsAreGathered) {
  const auto stages = [](const std::string& rest, const std::string& target) -> std::int64_t {
    const Plan planned =
        plan("all_gather_matmul", "variant: bulk_synchronous, dtype: bf16, layout: {b: nk}, " + rest, target);
    const KernelPlan& gather = planned.kernels[0];
    const KernelPlan& product = planned.kernels[1];
    const bool early = product.has("early_stages");
    EXPECT_EQ(gather.lets_next_begin, early) << rest;
    EXPECT_EQ(product.dependent_launch, early) << rest;
    EXPECT_FALSE(gather.dependent_launch || product.lets_next_begin) << rest;
    return early ? product.number("early_stages") : 0;
  };
  const std::string few = "world: 4, shape: {m: 128, n: 4096, k: 4096}";
  EXPECT_EQ(stages(few, "sm_90a"), 13);
  EXPECT_GT(stages("world: 2, shape: {m: 16, n: 1280, k: 8192}", "sm_90a"), 0);
  EXPECT_EQ(stages(few, "gfx942"), 0);
  EXPECT_EQ(stages(few, "host"), 0);
  EXPECT_EQ(stages(few + ", config: {tile_n: 128}", "sm_90a"), 0) << "too many registers";
  EXPECT_EQ(stages("world: 4, shape: {m: 8192, n: 512, k: 8192}", "sm_90a"), 0) << "gathered by copy engines";
  EXPECT_EQ(stages("world: 4, shape: {m: 256, n: 7168, k: 8192}", "sm_90a"), 0) << "not gathered in lines";
  EXPECT_EQ(stages("world: 4, shape: {m: 128, n: 4096, k: 4100}", "sm_90a"), 0) << "no tensor copies";
  // What of B is made on the way must be there before it is read.
  const Plan alone =
      plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 128, n: 4096, k: 4096}", "sm_90a");
  EXPECT_FALSE(alone.kernels[0].has("early_stages"));
}

/// All rows of A are read where they come to lie, in one of two buffers, in whole tiles.
TEST(RowsTogether, MultipliesTheRowsOfAllRanksAsOneMatrix) {
  const auto planned = [](const std::string& rest, const std::string& target) {
    return plan("all_gather_matmul", "variant: rows_together, world: 4, dtype: bf16, layout: {b: nk}, " + rest, target);
  };
  const KernelPlan by_stages = planned("shape: {m: 300, n: 7168, k: 8200}", "sm_90a").kernels.at(0);
  ASSERT_EQ(by_stages.maps.size(), 1u);
  EXPECT_EQ(by_stages.maps[0].buffer, "b");
  EXPECT_EQ(by_stages.number("early_stages"), by_stages.number("stages"));
  using Term = iris::ByteSize::Term;
  EXPECT_EQ(by_stages.workspace.terms, std::vector<Term>({{2 * 3 * 129 * 128 * 128, {}}}));  // of 3 tiles' rows
  EXPECT_EQ(by_stages.number("tile_n"), 192);
  EXPECT_EQ(by_stages.number("blocks"), by_stages.number("comm_blocks") + 3 * 38);
  const KernelPlan in_memory = planned("shape: {m: 300, n: 7168, k: 8200}", "gfx942").kernels.at(0);
  EXPECT_FALSE(in_memory.has("early_stages"));
  EXPECT_EQ(in_memory.workspace.terms, std::vector<Term>({{2 * 4'920'064, {}}}));  // each rounded up to 256
  const KernelPlan of_any =
      planned("config: {tile_n: 128}, shape: {m: dynamic, n: 7168, k: 8200}", "sm_90a").kernels.at(0);
  EXPECT_EQ(of_any.workspace.terms, std::vector<Term>({{2 * 129 * 128 * 128, {}}, {2 * 129 * 128, {"m"}}}));
}

/// 16 blocks that lie side by side read fewest rows and columns so: measured on an H100, of 64 columns by up to 27 %,
/// of 96 by up to 31 %.
TEST(Matmul, TakesNarrowTilesInLowBands) {
  const auto band = [](int tile_n) {
    return plan("matmul",
                "variant: tiled, world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 1024, n: 1024, k: 8192}, config: "
                "{tile_n: " +
                    std::to_string(tile_n) + "}",
                "sm_90a")
        .kernels[0]
        .number("tile_band");
  };
  EXPECT_EQ(band(64), 2);
  EXPECT_EQ(band(96), 4);
  EXPECT_EQ(band(128), 8);
  EXPECT_EQ(band(256), 8);
}

/// As it was fastest on an H200 and on an H100: of 160 tiles 132 are made whole, of 320 twice as many; of other widths
/// it is others.
TEST(SplitK, SharesTheTilesThatAreLeft) {
  struct Case {
    const char* layout;
    const char* m;
    int tile_n;
    int parts;
  };
  for (const auto& [layout, m, tile_n, parts] :
       {Case{"kn", "1024", 256, 3}, Case{"kn", "4096", 256, 4}, Case{"nk", "1024", 160, 2}}) {
    const std::string shape = "layout: {b: " + std::string(layout) + "}, shape: {n: 1280, k: 8192, m: " + m + "}";
    const KernelPlan kernel = plan("matmul", "world: 1, dtype: bf16, " + shape, "sm_90a").kernels[0];
    EXPECT_EQ(kernel.template_path, "matmul/split_k.hip") << shape;
    EXPECT_EQ(kernel.number("tile_n"), tile_n) << shape;
    EXPECT_EQ(kernel.number("parts"), parts) << shape;
  }
}

/// Where nobody has measured it, parts are added up through memory, after a signal.
TEST(SplitK, IsDearerWhereNobodyHasMeasuredIt) {
  const auto predicted = [](const std::string& variant) {
    return plan("matmul",
                "variant: " + variant +
                    ", world: 1, dtype: bf16, shape: {m: 1024, n: 1024, k: 64}, config: {tile_m: 128, tile_n: 128}",
                "gfx942")
        .prediction.time_us;
  };
  EXPECT_GT(predicted("split_k"), predicted("tiled") + 5);
}

TEST(LaunchedBlocks, AreNoMoreThanThereAreTilesIfNobodyWaitsForThem) {
  const auto tiles = [](const std::string& pattern, const std::string& rest) {
    const Plan any = plan(pattern, "world: 2, dtype: bf16, layout: {b: nk}, " + rest, "sm_90a");
    return std::get<iris::LaunchStep>(any.schedules.front().steps.front().action).tiles;
  };
  EXPECT_EQ(tiles("matmul", "variant: tiled, shape: {m: dynamic, n: 72, k: 64}, config: {tile_m: 128, tile_n: 64}"),
            (iris::TileCount{{"m"}, {"n"}, 128, 64}));
  EXPECT_EQ(tiles("matmul", "variant: tiled, shape: {m: 64, n: 64, k: dynamic}"), std::nullopt) << "one tile";
  EXPECT_EQ(tiles("matmul", "variant: split_k, shape: {m: dynamic, n: 64, k: 512}, config: {parts: 2}"), std::nullopt);
  EXPECT_EQ(tiles("matmul_reduce_scatter", "variant: fused_sequential, shape: {m: dynamic, n: 64, k: 64}"),
            std::nullopt);
  // As a part of an operation it has the whole's extents: here all rows of what is gathered.
  EXPECT_EQ(tiles("matmul_all_reduce",
                  "variant: bulk_synchronous, shape: {m: dynamic, n: 64, k: 128}, "
                  "config: {tile_m: 128, tile_n: 64}"),
            (iris::TileCount{{"m"}, {"n"}, 128, 64}));
  EXPECT_EQ(iris::blocks_with_tiles(132, {{}, {}, 128, 64}, 0, 4096), 1);
  EXPECT_EQ(iris::blocks_with_tiles(132, {{}, {}, 128, 64}, 64, 4096), 64);
  EXPECT_EQ(iris::blocks_with_tiles(132, {{}, {}, 128, 64}, 129, 4097), 130);
  EXPECT_EQ(iris::blocks_with_tiles(132, {{}, {}, 128, 64}, 257, 4096), 132);
  EXPECT_EQ(iris::blocks_with_tiles(132, {{}, {}, 1, 1}, std::int64_t{1} << 62, std::int64_t{1} << 62), 132);
}

TEST(SplitK, OccupiesTheComputeUnits) {
  const auto kernel = [](const std::string& rest, const char* target = "sm_90a") {
    return plan("matmul", "variant: split_k, world: 1, " + rest, target).kernels[0];
  };
  const KernelPlan few =
      kernel("dtype: bf16, layout: {b: nk}, shape: {m: 512, n: 2048, k: 8192}, config: {tile_n: 128}");
  EXPECT_TRUE(few.waits);
  EXPECT_FALSE(few.waits_for_ranks);
  EXPECT_EQ(few.number("parts"), 2);
  EXPECT_EQ(few.number("tile_n"), 128);
  EXPECT_EQ(few.number("blocks"), 128);
  EXPECT_EQ(kernel("dtype: bf16, shape: {m: dynamic, n: 1280, k: 8192}").number("blocks"), 132);
  EXPECT_EQ(kernel("dtype: bf16, shape: {m: 3, n: 8, k: 64}").number("parts"), 1);
  const KernelPlan fma = kernel("dtype: f32, shape: {m: 64, n: 640, k: 4096}", "gfx942");
  EXPECT_EQ(fma.number("parts"), 16);  // of 10 tiles for 608 blocks
  EXPECT_EQ(fma.number("blocks"), 160);
  EXPECT_EQ(kernel("dtype: f32, shape: {m: 64, n: 640, k: dynamic}", "gfx942").number("parts"), 16);
  EXPECT_EQ(kernel("dtype: f32, shape: {m: 64, n: dynamic, k: dynamic}", "gfx942").number("parts"), 4);
}

/// A part is 128 rows of 128 sums in f32, of which there are 3 of each tile that is left after whole turns, unless
/// there are more of them than blocks.
TEST(SplitK, HasRoomForAllParts) {
  const std::string shape = "dtype: bf16, config: {tile_n: 128, parts: 3}, shape: {n: 256, k: 8192, m: ";
  const auto terms = [&](const std::string& m) {
    return plan("matmul", "variant: split_k, world: 1, " + shape + m + "}", "sm_90a").kernels[0].workspace.terms;
  };
  using Terms = std::vector<iris::ByteSize::Term>;
  constexpr std::int64_t part = 128 * 128 * 4;
  EXPECT_EQ(terms("256"), Terms({{4 * 3 * part, {}}}));
  EXPECT_EQ(terms("10240"), Terms({{(160 - 132) * 3 * part, {}}}));
  EXPECT_EQ(terms("12800"), Terms({{0, {}}})) << "68 are left";
  EXPECT_EQ(terms("dynamic"), Terms({{132 * part, {}}}));
}

TEST(SplitK, RefusesPartsThatCannotBe) {
  const std::string start = "variant: split_k, world: 1, dtype: bf16, shape: {m: 64, n: 256, k: 512}, config: ";
  expect_refused("matmul", start + "{parts: 9}", "sm_90a", "9 parts, and k has 8 slices of 64; write 8 or less");
  expect_refused("matmul", start + "{parts: 4, blocks: 3}", "sm_90a",
                 "4 parts of a tile, and 3 blocks; each part needs a block of its own");
  expect_planned("matmul", start + "{parts: 4, blocks: 4}", "sm_90a");
  expect_planned("matmul", start + "{blocks: 3}", "sm_90a");
  expect_planned("matmul", start + "{blocks: 1}", "gfx942");
  expect_planned("matmul", start + "{parts: 33}", "gfx942");  // some are empty
}

TEST(Roles, AreOneBlockForEachTileOfASmallProblem) {
  const KernelPlan kernel = plan("all_gather_matmul", layer, "gfx942").kernels.at(0);
  EXPECT_EQ(kernel.number("comm_blocks"), 16);
  EXPECT_EQ(kernel.number("blocks"), 16 + 8 * 2);  // 224 rows are 2 tiles on each of 8 ranks
  EXPECT_EQ(kernel.flags, kernel.number("blocks") * 8 + 16 * 8);
}

/// What is known of an extent is known of a part of it as far as it divides.
TEST(Products, OfARankHaveMultiplesOfTheirOwn) {
  const auto multiple_of_part = [](std::int64_t multiple, std::int64_t parts) {
    const iris::Problem whole = {.pattern = "matmul_all_gather",
                                 .layout_b = iris::Layout::kn,
                                 .world = 2,
                                 .extents = {{"m", {.value = 8}},
                                             {"n", {.dynamic = true, .multiple = multiple}},
                                             {"k", {.dynamic = true, .multiple = 4}}}};
    const iris::Problem part = product_of(whole, {"m"}, {"n", 1, parts});
    EXPECT_EQ(part.extent("k").multiple, 4);
    return part.extent("n").multiple;
  };
  EXPECT_EQ(multiple_of_part(16, 2), 8);
  EXPECT_EQ(multiple_of_part(16, 1), 16);
  EXPECT_EQ(multiple_of_part(16, 3), 1);
}

}  // namespace
}  // namespace irisgen::matmul_planning_test
