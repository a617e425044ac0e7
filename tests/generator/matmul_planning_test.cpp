#include "generator/plan/matmul_planning.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

constexpr const char* layer = "variant: workgroup_specialized, dtype: f32, world: 8, shape: {m: 1792, n: 32, k: 256}";

TEST(Workspace, HoldsTheTilesOfEveryRankAsTheMainLoopHoldsThem) {
  const auto slots = [](const std::string& pattern, const std::string& rest, const std::string& target) {
    return plan(pattern, "variant: fused_sequential, world: 2, " + rest, target).kernels.at(0).workspace.terms;
  };
  using Terms = std::vector<iris::ByteSize::Term>;
  // 300 of 600 rows in 3 tiles, 520 columns in 3; rows of a tile have 16 bytes between them.
  const std::string wide = "dtype: bf16, config: {tile_n: 256}, shape: {n: 520, k: 64, m: ";
  constexpr std::int64_t image = 128 * (256 + 8) * 2;
  EXPECT_EQ(slots("matmul_reduce_scatter", wide + "600}", "sm_90a"), Terms({{2 * 2 * 3 * 3 * image, {}}}));
  EXPECT_EQ(slots("matmul_all_reduce", wide + "601}", "sm_90a"), Terms({{2 * 2 * 3 * 3 * image, {}}}));
  // One row of tiles, and one more for each 256 rows.
  EXPECT_EQ(slots("matmul_all_reduce", wide + "dynamic}", "sm_90a"),
            Terms({{2 * 2 * 3 * image, {}}, {2 * 2 * 3 * image / 256, {"m"}}}));
  // Elsewhere rows of a tile follow each other, in whole accesses.
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
  EXPECT_EQ(chosen("m: 96, n: 4096, k: 4096"), "split_k");
  EXPECT_EQ(chosen("m: 1024, n: 1280, k: 8192"), "split_k");
  EXPECT_EQ(chosen("m: 1, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 64, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 8192, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 128, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 256, n: 2048, k: 2048"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 8192, k: 3584"), "tiled");
  EXPECT_EQ(chosen("m: 128, n: 7168, k: 2048"), "tiled");
  EXPECT_EQ(chosen("m: 16, n: 28672, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 512, n: 2048, k: 8192"), "tiled");
  EXPECT_EQ(chosen("m: 1024, n: 2048, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 4096, n: 4096, k: 4096"), "tiled");
  EXPECT_EQ(chosen("m: 1024, n: 8192, k: 3584"), "tiled");
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

/// The kernels that a launch of so many rows takes, in their order.
std::vector<const KernelPlan*> kernels_at(const Plan& plan, std::int64_t rows) {
  const auto is_within = [&](const iris::Bound& bound) { return bound.extent == "m" && iris::takes(bound, rows); };
  const auto schedule = std::ranges::find_if(plan.schedules, [&](const iris::Schedule& each) {
    return each.up_to == iris::every_size && std::ranges::all_of(each.bounds, is_within);
  });
  std::vector<const KernelPlan*> kernels;
  for (const iris::Step& step : schedule->steps) {
    if (const auto* launch = std::get_if<iris::LaunchStep>(&step.action))
      kernels.push_back(&plan.kernels.at(static_cast<std::size_t>(launch->kernel)));
  }
  return kernels;
}

/// The one of them that multiplies.
const KernelPlan& kernel_at(const Plan& plan, std::int64_t rows) {
  const std::vector<const KernelPlan*> kernels = kernels_at(plan, rows);
  return **std::ranges::find_if(kernels, [](const KernelPlan* kernel) { return kernel->main_loop().has_value(); });
}

TEST(BySize, GivesAProductOfAnyNumberOfRowsTheTilesThatSuitIt) {
  const std::string start = "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 4096, m: ";
  const Plan any = plan("matmul", start + "dynamic}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_LE(any.kernels.size(), 6u + 1u);  // and one of few rows
  std::vector<std::int64_t> all_rows = {1, 16, 50, 100, 200, 500, 16384};
  for (std::int64_t rows = 128; rows <= 4096; rows += 128) all_rows.push_back(rows);
  for (const std::int64_t rows : all_rows) {
    const Plan known = plan("matmul", start + std::to_string(rows) + "}", "sm_90a");
    const KernelPlan& taken = kernel_at(any, rows);
    // Known to be 65 to 127, narrow tiles are not made transposed; the kernel, whose stages hold 128, makes them so.
    const std::int64_t rows_of_same = rows > 64 && rows < 128 ? 128 : rows;
    const Plan same =
        plan("matmul",
             start + std::to_string(rows_of_same) + "}, variant: " + std::string(taken.variant) +
                 ", config: {tile_n: " + std::to_string(taken.number("tile_n")) +
                 (taken.variant == "split_k" ? ", parts: " + std::to_string(taken.number("parts")) : "") + "}",
             "sm_90a");
    EXPECT_LE(same.prediction.time_us, 1.2 * known.prediction.time_us) << rows;
  }
  // The words name the kernels that launches of each size take.
  const std::string& words = any.choices.front().reason;
  for (const std::int64_t rows : {16, 100, 500, 2000}) {
    const std::string& part = kernel_at(any, rows).part;
    EXPECT_NE(words.find(" " + part + " up to m = "), std::string::npos) << part << ": " << words;
  }
  EXPECT_NE(words.find(" " + kernel_at(any, 4096).part + " above"), std::string::npos) << words;
  EXPECT_NE(words.find("split_k_2 up to m = "), std::string::npos) << words;
  EXPECT_EQ(kernel_at(any, 16).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 100).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 4096).number("tile_n"), 256);
  // Of few rows stages hold no more than there are.
  EXPECT_EQ(kernel_at(any, 16).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 65).number("stage_rows"), 128);
}

/// The kernel for few rows has the shape that it would have if they were known, since its stages are as small.
TEST(BySize, ShapesAKernelOfFewRowsForThese) {
  for (const char* shape : {"n: 8192, k: 1024", "n: 1280, k: 8192", "n: 7168, k: 2048"}) {
    const auto planned = [&](const std::string& m) {
      return plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {" + std::string(shape) + m, "sm_90a");
    };
    const Plan any = planned(", m: dynamic}");
    const Plan known = planned(", m: 64}");
    const KernelPlan& taken = kernel_at(any, 64);
    EXPECT_EQ(taken.variant, known.variant) << shape;
    EXPECT_EQ(taken.number("tile_n"), known.kernels[0].number("tile_n")) << shape;
    EXPECT_EQ(taken.number("stages"), known.kernels[0].number("stages")) << shape;
  }
}

/// Of a pattern that divides rows among ranks there are few as long as each rank has few.
TEST(BySize, CountsTheRowsThatEachRankMultiplies) {
  const std::string start = "world: 4, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 1024, m: dynamic}";
  const Plan any = plan("matmul_reduce_scatter", start + ", config: {tile_n: 256}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_EQ(kernel_at(any, 256).variant, "fused_sequential");
  EXPECT_EQ(kernel_at(any, 256).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 260).number("stage_rows"), 128);
  EXPECT_EQ(kernel_at(any, 4096).number("stage_rows"), 128);
}

/// Each of them as good as if the rows were known, by the model: with other variants, several of several kernels.
TEST(BySize, GivesFusedProductsOfAnyNumberOfRowsWhatSuitsThem) {
  struct Case {
    const char* pattern;
    const char* shape;
  };
  for (const auto& [pattern, shape] : {Case{"matmul_all_reduce", "n: 8192, k: 3584, m: "},
                                       {"matmul_reduce_scatter", "n: 8192, k: 3584, m: "},
                                       {"all_gather_matmul", "n: 3584, k: 8192, m: "},
                                       {"matmul_all_gather", "n: 3584, k: 8192, m: "}}) {
    const std::string start = std::string("world: 8, dtype: bf16, layout: {b: nk}, shape: {") + shape;
    const Plan any = plan(pattern, start + "dynamic}", "sm_90a");
    EXPECT_EQ(any.variant, "by_size") << pattern;
    EXPECT_LE(any.kernels.size(), 10u) << pattern;
    for (const std::int64_t rows : {8, 64, 128, 512, 1024, 4096, 16384}) {
      const Plan known = plan(pattern, start + std::to_string(rows) + "}", "sm_90a");
      const KernelPlan& taken = kernel_at(any, rows);
      const std::string variant = taken.problem.pattern == "matmul" ? "bulk_synchronous" : taken.variant;
      const bool has_roles =
          std::ranges::find(taken.constants, "comm_blocks", &Constant::name) != taken.constants.end();
      const Plan same =
          plan(pattern,
               start + std::to_string(rows) + "}, variant: " + variant +
                   ", config: {tile_n: " + std::to_string(taken.number("tile_n")) +
                   (has_roles ? ", comm_blocks: " + std::to_string(taken.number("comm_blocks")) : "") + "}",
               "sm_90a");
      EXPECT_LE(same.prediction.time_us, 1.25 * known.prediction.time_us) << pattern << " " << rows;
    }
  }
}

/// What moves the rows is the same whatever the tiles are: one kernel serves them all.
TEST(BySize, SharesKernelsAmongTheVariantsOfAnOperation) {
  const Plan any = plan("matmul_reduce_scatter",
                        "world: 8, dtype: bf16, layout: {b: nk}, shape: {n: 8192, k: 3584, m: dynamic}", "sm_90a");
  ASSERT_EQ(kernels_at(any, 64).size(), 2u);
  ASSERT_EQ(kernels_at(any, 128).size(), 2u);
  EXPECT_NE(kernels_at(any, 64)[0], kernels_at(any, 128)[0]);
  EXPECT_EQ(kernels_at(any, 64)[1], kernels_at(any, 128)[1]);
  std::set<std::string> symbols;
  for (const KernelPlan& kernel : any.kernels) EXPECT_TRUE(symbols.insert(kernel.symbol).second) << kernel.symbol;
}

/// Copies bring flags of one kernel to another, which must have been launched as often.
TEST(BySize, SharesNoKernelsWhoseFlagsAreCopied) {
  const std::string start = "world: 4, dtype: bf16, layout: {b: nk}, variant: producer_consumer, shape: {n: 3584, ";
  const Plan any = plan("all_gather_matmul", start + "k: dynamic, m: dynamic}", "sm_90a");
  ASSERT_EQ(any.schedules.size(), 2u);  // of whole rows, and of others
  std::set<int> barriers;
  for (const iris::Schedule& schedule : any.schedules)
    barriers.insert(std::get<iris::LaunchStep>(schedule.steps.at(0).action).kernel);
  EXPECT_EQ(barriers.size(), 2u);
  for (const int barrier : barriers)
    EXPECT_EQ(any.kernels.at(static_cast<std::size_t>(barrier)).problem.pattern, "barrier");
}

TEST(BySize, LeavesAProductAloneThatTheDescriptionShapes) {
  const std::string start = "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 4096, m: dynamic}";
  EXPECT_EQ(plan("matmul", start + ", config: {tile_n: 128}", "sm_90a").kernels.front().number("tile_n"), 128);
  EXPECT_EQ(plan("matmul", start + ", variant: tiled", "sm_90a").kernels.size(), 1u);
}

/// Few rows are few whatever the other lengths turn out to be. Where tiles end is not known, so that few kernels do.
TEST(BySize, ShapesAKernelOfFewRowsWhereOtherLengthsAreUnknownToo) {
  const Plan any =
      plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: dynamic, k: 4096, m: dynamic}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_LE(any.kernels.size(), 4u);
  EXPECT_TRUE(any.choices.front().reason.ends_with(", as predicted, with the other lengths 4096"));
  EXPECT_EQ(kernel_at(any, 1).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 65).number("stage_rows"), 128);
  EXPECT_EQ(kernel_at(any, 4096).number("tile_n"), 256);
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

/// Rows that are known decide nothing: columns do then.
TEST(BySize, TellsLaunchesApartByColumnsWhereRowsAreKnown) {
  const Plan any =
      plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: dynamic, k: dynamic, m: 4096}", "sm_90a");
  std::set<std::string> bounded;
  for (const iris::Schedule& schedule : any.schedules) {
    for (const iris::Bound& bound : schedule.bounds) {
      if (bound.up_to != iris::every_size) bounded.insert(bound.extent);
    }
  }
  EXPECT_EQ(bounded, std::set<std::string>{"n"});
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

TEST(Portions, AreAsFewAsLetProductsBeginEarly) {
  const auto portions = [](const std::string& rest, const std::string& target) {
    return plan("all_gather_matmul", "variant: producer_consumer, dtype: bf16, " + rest, target)
        .kernels[1]
        .number("portions");
  };
  const auto of_rows = [&](int world, const std::string& m) {
    return portions("world: " + std::to_string(world) + ", shape: {n: 1280, k: 8192, m: " + m + "}", "sm_90a");
  };
  EXPECT_EQ(of_rows(1, "16384"), 8);
  EXPECT_EQ(of_rows(2, "1024"), 1);
  EXPECT_EQ(of_rows(2, "8192"), 4);
  EXPECT_EQ(of_rows(2, "65536"), 8);
  EXPECT_EQ(of_rows(4, "65536"), 2);  // to each of three others
  EXPECT_EQ(of_rows(8, "65536"), 1);
  EXPECT_EQ(of_rows(2, "dynamic"), 3);
  EXPECT_EQ(portions("world: 2, shape: {m: 8, n: 8, k: 8}", "host"), 3);
  EXPECT_EQ(portions("world: 2, shape: {m: 8, n: 8, k: 8}, config: {portions: 5}", "sm_90a"), 5);
}

/// Where the runtime makes kernels of copies, products that wait for these must not take the whole chip.
TEST(Portions, LeaveAComputeUnitToCopiesThatAreKernels) {
  const std::string rows = "variant: producer_consumer, dtype: bf16, world: 2, shape: {m: 65536, n: 8192, k: 64}";
  EXPECT_EQ(plan("all_gather_matmul", rows, "gfx942").kernels[1].number("blocks"), 303);
  EXPECT_EQ(plan("all_gather_matmul", rows, "sm_90a").kernels[1].number("blocks"), 132);
  expect_refused("all_gather_matmul", rows + ", config: {blocks: 304}", "gfx942", "write 303 or less");
  expect_planned("all_gather_matmul", rows + ", config: {blocks: 303}", "gfx942");
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
}  // namespace irisgen
