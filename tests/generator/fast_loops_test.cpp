#include "generator/plan/fast_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/generator/samples.hpp"

namespace irisgen::fast_loops_test {
namespace {

/// Of the last kernel, which takes any rows that it may be given.
const Constant& main_loop(const Plan& plan) {
  const std::vector<Constant>& constants = plan.kernels.back().constants;
  return *std::ranges::find(constants, "MainLoop", &Constant::name);
}

TEST(MainLoop, IsOfMatrixUnitsWhereTheyAreAndRowsSuitThem) {
  const auto product = [](const std::string& rest) { return plan("matmul", "world: 1, " + rest, "sm_90a"); };
  for (const char* dtype : {"f16", "bf16"}) {
    const Plan fast = product("dtype: " + std::string(dtype) + ", shape: {m: dynamic, n: 520, k: 72}");
    EXPECT_EQ(main_loop(fast).text(), "WarpgroupMma");
    EXPECT_EQ(fast.kernels[0].number("threads"), 384);
    EXPECT_EQ(fast.kernels[0].maps.size(), 3u) << "of A two, one for the last rows";
  }
  const auto expect_fma = [&](const std::string& rest, const std::string& reason) {
    const Plan plain = product("variant: tiled, " + rest);
    EXPECT_EQ(main_loop(plain).text(), "FusedMultiplyAdd") << rest;
    EXPECT_EQ(main_loop(plain).reason, "no matrix units: " + reason);
    EXPECT_TRUE(plain.kernels[0].maps.empty());
  };
  expect_fma("dtype: bf16, accumulate: f64, shape: {m: 128, n: 128, k: 64}", "sums are not in f32");
  expect_fma("dtype: tf32, layout: {b: nk}, shape: {m: 128, n: 128, k: 65}",
             "rows of 65 elements are no multiple of 16 bytes; nor without tensor copies: they take no tf32");
  expect_fma("dtype: e4m3, shape: {m: 128, n: 128, k: 128}",
             "they take a B of 8-bit elements as (n,k) only: write layout: {b: nk}");
  expect_fma("dtype: bf16, shape: {m: 128, n: 128, k: 64}, config: {tile_m: 32}",
             "they take a tile_m of 128 or 64; nor without tensor copies: they take a tile_m of 64 or 128");
  const std::string slowly = "rows of 65 elements are no multiple of 16 bytes; nor without tensor copies: they take ";
  const std::string odd = "dtype: bf16, shape: {m: 128, n: 128, k: 65}, config: ";
  expect_fma(odd + "{threads: 128}", slowly + "blocks of 256 threads");
  expect_fma(odd + "{tile_n: 256}", slowly + "a tile_n of 64 or 128");
  expect_fma(odd + "{tile_k: 32}", slowly + "a tile_k of 64");
  const Plan wide = product(
      "variant: tiled, dtype: e4m3, layout: {b: nk}, shape: {m: 128, n: 128, k: dynamic}, "
      "config: {tile_m: 128, tile_n: 128}");
  EXPECT_EQ(main_loop(wide).reason,
            "no matrix units: rows of k elements may be no multiple of 16 bytes; nor without tensor copies: of lengths "
            "that are known only at launch they take a tile of 128 x 64 or 64 x 128 at most");
  EXPECT_EQ(main_loop(product("dtype: bf16, layout: {b: nk}, shape: {m: 128, n: 65, k: 64}")).text(), "WarpgroupMma");
  EXPECT_EQ(main_loop(product("dtype: bf16, layout: {b: nk}, shape: {m: 8, n: dynamic, k: 64}")).text(),
            "WarpgroupMma");
  EXPECT_EQ(main_loop(plan("matmul", "world: 1, dtype: bf16, shape: {m: 128, n: 128, k: 64}", "host")).reason, "");
}

/// Where tensor copies do not take the rows, threads copy them.
TEST(MainLoop, IsOfMatrixUnitsForRowsThatBeginAnywhere) {
  const auto expect_packed = [](const std::string& variant, const std::string& rest, const std::string& reason) {
    const Plan packed = plan("matmul", "world: 1, variant: " + variant + ", " + rest, "sm_90a");
    EXPECT_EQ(main_loop(packed).text(), "PackedWarpMma") << rest;
    EXPECT_EQ(main_loop(packed).reason,
              "matrix units, fed from four stages in shared memory; no tensor copies: " + reason);
    EXPECT_EQ(packed.kernels.back().number("threads"), 256);
    EXPECT_EQ(packed.kernels.back().number("tile_k"), packed.problem.dtype == Dtype::e4m3 ? 128 : 64);
    EXPECT_TRUE(packed.kernels.back().maps.empty());
  };
  const std::string shifted = "; such rows are shifted into place on their way";
  const std::string odd = "rows of 65 elements are no multiple of 16 bytes" + shifted;
  expect_packed("tiled", "dtype: bf16, shape: {m: 128, n: 128, k: 65}", odd);
  expect_packed("tiled", "dtype: f16, shape: {m: 128, n: 65, k: 64}", odd);
  expect_packed("tiled", "dtype: bf16, layout: {b: nk}, shape: {m: 128, n: 128, k: 65}", odd);
  expect_packed("tiled", "dtype: e4m3, layout: {b: nk}, shape: {m: 128, n: 128, k: 65}", odd);
  expect_packed("tiled", "dtype: bf16, shape: {m: 128, n: dynamic, k: 64}",
                "rows of n elements may be no multiple of 16 bytes" + shifted);
  expect_packed("tiled", "dtype: bf16, shape: {m: 128, n: 128, k: 0}", "k is 0");
  expect_packed("split_k", "dtype: bf16, shape: {m: 128, n: 128, k: 128}, config: {tile_m: 64, parts: 2}",
                "they take a tile_m of 128");
  const std::string fused =
      "variant: workgroup_specialized, world: 2, dtype: bf16, layout: {b: nk}, shape: {m: 512, n: 256, k: 130}";
  EXPECT_EQ(plan("all_gather_matmul", fused, "sm_90a").kernels[0].main_loop(), MainLoop::mma_packed);
  const std::string wide =
      "world: 1, dtype: bf16, shape: {m: 512, n: dynamic, k: 96}, config: {tile_n: 128, tile_m: 128";
  EXPECT_EQ(plan("matmul", wide + "}, variant: tiled", "sm_90a").kernels.back().main_loop(), MainLoop::mma_packed);
  EXPECT_EQ(plan("matmul", wide + ", parts: 2}, variant: split_k", "sm_90a").kernels.back().main_loop(), MainLoop::fma);
}

/// Smaller copies take longer, those of odd rows longest.
TEST(MainLoop, PredictsWhatRowsThatBeginAnywhereCost) {
  const auto predicted_us = [](const std::string& k) {
    return plan("matmul",
                "variant: tiled, world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 4096, n: 4096, k: " + k + "}",
                "sm_90a")
        .prediction.time_us;
  };
  EXPECT_LT(3 * predicted_us("4096"), 2 * predicted_us("4100"));
  EXPECT_LT(predicted_us("4100"), predicted_us("4098"));
  EXPECT_LT(predicted_us("4098"), predicted_us("4097"));
}

TEST(MainLoop, ReadsBInItsLayout) {
  const auto map_of_b = [](const std::string& layout) {
    return plan("matmul",
                "world: 1, dtype: bf16, shape: {m: 128, n: 512, k: 256}, config: {tile_n: 128}, layout: {b: " + layout +
                    "}",
                "sm_90a")
        .kernels[0]
        .maps.at(1);
  };
  const iris::MatrixMap kn = map_of_b("kn");
  EXPECT_EQ(kn.rows.extent + kn.columns.extent, "kn");
  EXPECT_EQ(kn.box_rows, 64);
  const iris::MatrixMap nk = map_of_b("nk");
  EXPECT_EQ(nk.rows.extent + nk.columns.extent, "nk");
  EXPECT_EQ(nk.box_rows, 128);  // of the tile
  for (const char* variant : {"workgroup_specialized", "bulk_synchronous"}) {
    const std::string rest = ", dtype: f16, world: 2, shape: {m: 8, n: 6, k: 4}, layout: {b: nk}";
    const Plan fused = plan("matmul_all_gather", "shard: n, variant: " + std::string(variant) + rest, "host");
    const iris::Argument& b = fused.arguments.at(1);
    EXPECT_EQ(b.shape, (std::vector<iris::Dimension>{{"n", 1, 2}, {"k"}}));
    EXPECT_EQ(constant(fused, "LayoutB").text(), "ColumnMajor");
  }
}

TEST(MainLoop, IsOfMatrixUnitsOnAmdForRowsOfAnyLength) {
  const std::string odd = "shape: {m: dynamic, n: 65, k: 0}";
  for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
    const auto product = [&](const std::string& rest) { return plan("matmul", "world: 1, " + rest, target); };
    for (const char* dtype : {"f16", "bf16"}) {
      const Plan fast = product("dtype: " + std::string(dtype) + ", " + odd);
      EXPECT_EQ(main_loop(fast).text(), "WaveMma");
      EXPECT_EQ(main_loop(fast).reason,
                "matrix units, fed from two stages in shared memory; rows of 65 elements are no multiple of 16 bytes; "
                "such rows are read one element at a time");
      EXPECT_EQ(fast.kernels[0].number("threads"), 512);
      EXPECT_TRUE(fast.kernels[0].maps.empty());
    }
    const auto expect_fma = [&](const std::string& rest, const std::string& reason) {
      const Plan plain = product(rest);
      EXPECT_EQ(main_loop(plain).text(), "FusedMultiplyAdd") << rest;
      EXPECT_EQ(main_loop(plain).reason, "no matrix units: " + reason);
    };
    for (const char* dtype : {"f32", "tf32"}) {
      const Plan fast = product("dtype: " + std::string(dtype) + ", " + odd);
      EXPECT_EQ(main_loop(fast).text(), "WaveMma");
      EXPECT_EQ(fast.kernels[0].number("tile_k"), 16);
    }
    const Plan in_f64 = product("dtype: f64, " + odd);
    EXPECT_EQ(main_loop(in_f64).text(), "WaveMma");
    EXPECT_EQ(in_f64.kernels[0].number("tile_k"), 8);
    expect_fma("dtype: f64, " + odd + ", config: {tile_m: 256}", "they take a tile_m of 128 for f64");
    expect_fma("dtype: i32, " + odd, "they take no i32");
    expect_fma("dtype: f32, accumulate: f64, " + odd, "sums are not in f32");
    expect_fma("dtype: f16, accumulate: f64, " + odd, "sums are not in f32");
    expect_fma("dtype: f16, " + odd + ", config: {tile_m: 64}", "they take a tile_m of 128 or 256");
    expect_fma("dtype: f16, " + odd + ", config: {tile_n: 256, tile_m: 64}", "they take a tile_m of 128 or 256");
    expect_fma("dtype: f16, " + odd + ", config: {tile_n: 32}", "they take a tile_n of 64 or 128");
    expect_fma("dtype: f16, " + odd + ", config: {tile_k: 16}", "they take a tile_k of 32");
    expect_fma("dtype: f16, " + odd + ", config: {threads: 256}", "they take blocks of 512 threads");
  }
}

/// Of the tiles for AMD's matrix units the one that keeps most of 304 compute units at work, a smaller one the slower.
TEST(MainLoop, TakesSmallerTilesWhereLargeOnesAreFewOnAmd) {
  const auto tile = [](const std::string& shape) {
    const KernelPlan kernel =
        plan("matmul", "variant: tiled, world: 1, dtype: bf16, shape: {" + shape + "}", "gfx942").kernels[0];
    return std::to_string(kernel.number("tile_m")) + " x " + std::to_string(kernel.number("tile_n"));
  };
  EXPECT_EQ(tile("m: 8192, n: 8192, k: 8192"), "256 x 128");
  EXPECT_EQ(tile("m: 8192, n: dynamic, k: 8192"), "128 x 128");
  EXPECT_EQ(tile("m: 2048, n: 2048, k: 8192"), "128 x 128");
  EXPECT_EQ(tile("m: 1024, n: 1024, k: 8192"), "128 x 64");
}

/// sm_90a and gfx950 take 8-bit elements where B is contiguous along k.
TEST(MainLoop, TakesElementsOf8Bits) {
  const auto kernel = [](const std::string& rest, const std::string& target) {
    return plan("matmul", "world: 1, dtype: e4m3, shape: {m: 512, n: 512, k: 512}" + rest, target).kernels[0];
  };
  const KernelPlan on_units = kernel(", layout: {b: nk}", "sm_90a");
  EXPECT_EQ(on_units.main_loop(), MainLoop::wgmma);
  EXPECT_EQ(on_units.number("tile_k"), 128);
  // Each sum takes two registers, and beside tiles that are gone through once more there are fewer.
  const auto large = [](const std::string& pattern) {
    return plan(pattern, "world: 2, dtype: e4m3, layout: {b: nk}, shape: {m: 8192, n: 8192, k: 8192}", "sm_90a");
  };
  EXPECT_EQ(large("matmul").kernels[0].number("tile_n"), 192);
  const std::string wide =
      "world: 2, dtype: e4m3, layout: {b: nk}, shape: {m: 512, n: 512, k: 512}, config: {tile_n: 192}";
  EXPECT_NE(refusal(kernel_text("matmul_all_reduce", "variant: fused_sequential, " + wide), "sm_90a"), "");
  EXPECT_EQ(refusal(kernel_text("all_gather_matmul", "variant: fused_sequential, " + wide), "sm_90a"), "");
  EXPECT_EQ(kernel(", layout: {b: nk}, config: {tile_n: 256, tile_m: 16}", "sm_90a").main_loop(), MainLoop::fma);
  ASSERT_EQ(on_units.maps.size(), 2u);
  for (const iris::MatrixMap& map : on_units.maps) EXPECT_EQ(map.box_columns, 128);
  EXPECT_EQ(kernel(", variant: tiled", "sm_90a").main_loop(), MainLoop::fma);
  EXPECT_EQ(kernel(", layout: {b: nk}, accumulate: f64", "sm_90a").main_loop(), MainLoop::fma);
  for (const char* target : {"gfx942", "gfx950"}) {
    EXPECT_EQ(kernel(", layout: {b: nk}", target).main_loop(), MainLoop::mfma) << target;
    EXPECT_EQ(kernel(", layout: {b: nk}", target).number("tile_k"), 64) << target;
    EXPECT_EQ(kernel("", target).main_loop(), MainLoop::fma) << target;
  }
  for (const char* target : {"host", "gfx90a"}) {
    EXPECT_EQ(kernel(", layout: {b: nk}", target).main_loop(), MainLoop::fma) << target;
  }
  // Rows of whole 16 bytes, which are 16 elements.
  const std::string odd = "world: 1, dtype: e4m3, layout: {b: nk}, shape: {m: 512, n: 512, k: 520}";
  EXPECT_EQ(plan("matmul", odd, "sm_90a").kernels[0].main_loop(), MainLoop::mma_packed);
  // AMD's move two elements at a time.
  EXPECT_EQ(plan("matmul", odd, "gfx950").kernels[0].main_loop(), MainLoop::mfma);
  for (const char* k : {"521", "dynamic"}) {
    const std::string shape = "world: 1, dtype: e4m3, layout: {b: nk}, shape: {m: 512, n: 512, k: " + std::string(k);
    EXPECT_EQ(plan("matmul", shape + "}", "gfx950").kernels[0].main_loop(), MainLoop::fma) << k;
  }
  const auto reason = [&](const char* target) { return main_loop(plan("matmul", odd, target)).reason; };
  EXPECT_NE(reason("gfx942").find("have another bias"), std::string::npos) << reason("gfx942");
  EXPECT_EQ(reason("gfx950").find("bias"), std::string::npos);
  const auto us = [](const char* dtype) {
    return plan("matmul", "world: 1, layout: {b: nk}, shape: {m: 8192, n: 8192, k: 8192}, dtype: " + std::string(dtype),
                "sm_90a")
        .prediction.time_us;
  };
  EXPECT_LT(1.6 * us("e4m3"), us("bf16"));
}

TEST(MainLoop, TakesF32AsTf32WhereTheDescriptionSaysSo) {
  const auto kernel = [](const std::string& rest) {
    return plan("matmul", "world: 1, shape: {m: 4096, n: 4096, k: 512}, " + rest, "sm_90a").kernels[0];
  };
  const KernelPlan on_units = kernel("dtype: tf32, layout: {b: nk}");
  EXPECT_EQ(on_units.main_loop(), MainLoop::wgmma);
  EXPECT_EQ(on_units.number("tile_k"), 32);
  EXPECT_EQ(on_units.number("tile_n"), 128);  // results of 32 bits take twice the shared memory
  EXPECT_EQ(on_units.number("stages"), 4);
  EXPECT_EQ(on_units.problem.result, Dtype::f32);
  ASSERT_EQ(on_units.maps.size(), 2u);
  for (const iris::MatrixMap& map : on_units.maps) EXPECT_EQ(map.box_columns, 32);
  EXPECT_EQ(kernel("dtype: f32, layout: {b: nk}").main_loop(), MainLoop::fma_staged);
  const std::string kn = "variant: tiled, world: 1, shape: {m: 512, n: 512, k: 512}, dtype: tf32";
  EXPECT_EQ(main_loop(plan("matmul", kn, "sm_90a")).reason,
            "no matrix units: they take a B of 32-bit elements as (n,k) only: write layout: {b: nk}; nor without "
            "tensor copies: they take no tf32");
}

TEST(MainLoop, TakesF64OfAnySizeOnBothPlatforms) {
  const auto kernel = [](const std::string& pattern, const std::string& rest, const std::string& target) {
    return plan(pattern, "world: 2, dtype: f64, " + rest, target).kernels[0];
  };
  const std::string large = "shape: {m: 8192, n: 8192, k: 1001}";
  for (const std::string& rest : {large, std::string("shape: {m: dynamic, n: dynamic, k: dynamic}")}) {
    const KernelPlan on_units = kernel("matmul", rest, "sm_90a");
    EXPECT_EQ(on_units.main_loop(), MainLoop::mma) << rest;
    EXPECT_EQ(on_units.number("threads"), 256);
    EXPECT_EQ(on_units.number("tile_k"), 16);
    EXPECT_TRUE(on_units.maps.empty());
    EXPECT_EQ(kernel("matmul", rest, "gfx942").main_loop(), MainLoop::mfma) << rest;
  }
  const auto sums = [](const KernelPlan& planned) { return planned.number("tile_m") * planned.number("tile_n"); };
  EXPECT_EQ(sums(kernel("matmul", "variant: tiled, " + large, "sm_90a")), 128 * 128);
  // Beside other work the largest tile would not stay in registers.
  EXPECT_LE(sums(kernel("matmul_reduce_scatter", "variant: fused_sequential, " + large, "sm_90a")), 128 * 64);
  const KernelPlan wide =
      kernel("matmul_reduce_scatter", "variant: fused_sequential, config: {tile_n: 128}, " + large, "sm_90a");
  EXPECT_EQ(wide.number("tile_m"), 64);
  EXPECT_EQ(kernel("matmul", large + ", config: {tile_m: 32}", "sm_90a").main_loop(), MainLoop::fma);
  EXPECT_EQ(kernel("matmul", large + ", config: {threads: 128}", "sm_90a").main_loop(), MainLoop::fma);
}

TEST(MainLoop, FeedsMultiplyAddsOfF32FromStages) {
  const auto product = [](const std::string& rest, const std::string& target = "sm_90a") {
    return plan("matmul", "world: 1, dtype: f32, " + rest, target);
  };
  const std::string large = "variant: tiled, shape: {m: 8192, n: 8192, k: 1001}";
  for (const std::string& rest : {large, large + ", layout: {b: nk}",
                                  std::string("variant: tiled, shape: {m: dynamic, n: dynamic, k: dynamic}")}) {
    const Plan staged = product(rest);
    EXPECT_EQ(main_loop(staged).text(), "StagedMultiplyAdd") << rest;
    EXPECT_EQ(main_loop(staged).reason.find("one element at a time"), std::string::npos);  // no rows are slow
    EXPECT_NE(main_loop(staged).reason.find("would round f32 to tf32"), std::string::npos);
    const KernelPlan& kernel = staged.kernels[0];
    EXPECT_EQ(kernel.number("threads"), 256);
    EXPECT_EQ(kernel.number("tile_k"), 16);
    EXPECT_EQ(kernel.number("blocks"), 132);
    EXPECT_TRUE(kernel.maps.empty());
  }
  const auto sums = [](const Plan& planned) {
    return planned.kernels[0].number("tile_m") * planned.kernels[0].number("tile_n");
  };
  EXPECT_EQ(sums(product(large)), 256 * 128);
  EXPECT_EQ(sums(product("variant: tiled, shape: {m: 1024, n: 1024, k: 1024}")), 128 * 64);  // one turn
  const auto tile_m_of = [&](const char* rows) {
    return product("variant: split_k, shape: {m: " + std::string(rows) + ", n: 4096, k: 4096}")
        .kernels[0]
        .number("tile_m");
  };
  EXPECT_EQ(tile_m_of("1"), 16);
  EXPECT_EQ(tile_m_of("17"), 32);
  EXPECT_EQ(tile_m_of("33"), 64);
  const auto expect_plain = [&](const std::string& config, const std::string& reason) {
    const Plan plain = product(large + ", config: {" + config + "}");
    EXPECT_EQ(main_loop(plain).text(), "FusedMultiplyAdd") << config;
    EXPECT_EQ(main_loop(plain).reason, "no stages in shared memory: " + reason);
  };
  expect_plain("threads: 128", "they take blocks of 256 threads");
  expect_plain("tile_k: 32", "they take a tile_k of 16");
  for (const char* config : {"tile_m: 32, tile_n: 128", "tile_m: 256, tile_n: 64", "tile_m: 8"}) {
    expect_plain(config,
                 "they take tiles of 256 x 128, 128 x 256, 128 x 128, 64 x 128, 128 x 64, 64 x 64, 32 x 256, 16 x 256 "
                 "or 16 x 128");
  }
  // Beside other work the largest tiles would not stay in registers.
  const auto fused = [](const std::string& config) {
    return plan("matmul_reduce_scatter",
                "variant: fused_sequential, world: 2, dtype: f32, shape: {m: 8192, n: 8192, k: 1001}" + config,
                "sm_90a");
  };
  EXPECT_EQ(sums(fused("")), 128 * 128);
  EXPECT_EQ(main_loop(fused(", config: {tile_m: 256}")).reason,
            "no stages in shared memory: they take tiles of 128 x 128, 64 x 128, 128 x 64, 64 x 64, 32 x 256, 16 x 256 "
            "or 16 x 128 beside other work");
  EXPECT_EQ(product(large, "gfx942").kernels[0].main_loop(), MainLoop::mfma);
  EXPECT_EQ(product(large, "host").kernels[0].main_loop(), MainLoop::fma);
}

/// As they were fastest on one H200: of 256, 192, 128 and 64 columns, and of multiples of 32 where B is along k.
TEST(MainLoop, TakesTheTileThatSuitsTheProduct) {
  const auto tile_n = [](const std::string& shape, const std::string& layout = "kn") {
    return plan("matmul", "variant: tiled, world: 1, dtype: bf16, layout: {b: " + layout + "}, shape: {" + shape + "}",
                "sm_90a")
        .kernels[0]
        .number("tile_n");
  };
  EXPECT_EQ(tile_n("m: 512, n: 1280, k: 8192"), 128);
  EXPECT_EQ(tile_n("m: 1024, n: 1280, k: 8192"), 128);
  EXPECT_EQ(tile_n("m: 4096, n: 1280, k: 8192"), 192);
  EXPECT_EQ(tile_n("m: 8192, n: 1280, k: 8192"), 128);
  EXPECT_EQ(tile_n("m: 16384, n: 1280, k: 8192"), 256);
  EXPECT_EQ(tile_n("m: 1024, n: 7168, k: 8192"), 256);
  EXPECT_EQ(tile_n("m: 8192, n: 8192, k: 1024"), 256);
  EXPECT_EQ(tile_n("m: 4096, n: 4096, k: 4096"), 256);
  EXPECT_EQ(tile_n("m: 4096, n: 1280, k: 8192", "nk"), 160);
  EXPECT_EQ(tile_n("m: 1024, n: 7168, k: 8192", "nk"), 224);
  EXPECT_EQ(tile_n("m: 2048, n: 7168, k: 8192", "nk"), 224);
  EXPECT_EQ(tile_n("m: 512, n: 4096, k: 4096", "nk"), 128);
  EXPECT_EQ(tile_n("m: 1024, n: 8192, k: 3584", "nk"), 256);
}

/// Copies bring panels of 64 columns where B is contiguous along n.
TEST(MainLoop, TakesTilesOfAnyWidthWhereBIsAlongK) {
  const auto planned = [](const std::string& rest) {
    return plan("matmul", "world: 1, shape: {m: 512, n: 512, k: 512}, " + rest, "sm_90a");
  };
  for (const int tile_n : {96, 160, 224}) {
    const std::string config = ", config: {tile_m: 128, tile_n: " + std::to_string(tile_n) + "}";
    EXPECT_EQ(main_loop(planned("dtype: bf16, layout: {b: nk}" + config)).text(), "WarpgroupMma") << tile_n;
  }
  const auto reason = [&](const std::string& rest) { return main_loop(planned(rest)).reason; };
  const std::string nor = "; nor without tensor copies: they take a tile_n of 64 or 128";
  EXPECT_EQ(reason("dtype: bf16, config: {tile_n: 32}"),
            "no matrix units: they take a tile_n of 256, 192, 128 or 64 for a B as (k,n)" + nor);
  EXPECT_EQ(reason("dtype: bf16, layout: {b: nk}, config: {tile_n: 32}"),
            "no matrix units: they take a tile_n of 256, 224, 192, 160, 128, 96 or 64" + nor);
  EXPECT_EQ(reason("dtype: e4m3, layout: {b: nk}, config: {tile_n: 32}"),
            "no matrix units: they take a tile_n of 192, 160, 128, 96 or 64 for elements of 8 bits" + nor);
}

/// As it was fastest on an H100. Where one warpgroup makes tiles transposed, of at least 128 rows, they take less time.
TEST(MainLoop, TakesNarrowTilesWhereTheyAreFewest) {
  const auto planned = [](const std::string& rest) {
    return plan("matmul", "world: 1, dtype: bf16, shape: {m: 256, n: 4096, k: 4096}, " + rest, "sm_90a");
  };
  EXPECT_EQ(planned("layout: {b: nk}").kernels[0].number("tile_n"), 64);
  EXPECT_EQ(planned("layout: {b: nk}").variant, "tiled");
  EXPECT_EQ(planned("layout: {b: kn}").variant, "tiled");
  EXPECT_EQ(planned("layout: {b: kn}").kernels[0].number("tile_n"), 128) << "of 64 rows";
  const auto tiled_us = [](const std::string& m) {
    const Plan narrow =
        plan("matmul",
             "world: 1, dtype: bf16, layout: {b: nk}, variant: tiled, config: {tile_m: 128, tile_n: 64}, "
             "shape: {n: 1024, k: 8192, m: " +
                 m + "}",
             "sm_90a");
    return narrow.prediction.time_us;
  };
  EXPECT_GT(tiled_us("120"), tiled_us("128") + 1) << "two warpgroups, each with half of the rows";
}

TEST(MainLoop, FillsAComputeUnitWithOneBlock) {
  const std::string rows = "dtype: bf16, world: 4, shape: {m: 8192, n: 8192, k: 3584}, variant: ";
  expect_planned("matmul_reduce_scatter", rows + "fused_sequential, config: {blocks: 132}", "sm_90a");
  expect_refused("matmul_reduce_scatter", rows + "fused_sequential, config: {blocks: 133}", "sm_90a",
                 "133 blocks of 384 threads are not resident together; write from 1 to 132 blocks");
  // Blocks that nobody asked for do not get in the way of those that somebody did.
  const Plan few = plan("matmul_reduce_scatter", rows + "workgroup_specialized, config: {blocks: 6}", "sm_90a");
  EXPECT_EQ(few.kernels[0].number("comm_blocks"), 3);
}

}  // namespace
}  // namespace irisgen::fast_loops_test
