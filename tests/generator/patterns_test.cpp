#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "irisgen/diagnostic.hpp"
#include "irisgen/pattern.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::patterns_test {
namespace {

constexpr const char* vector_f32 = "dtype: f32, world: 8, shape: {n: 85002}";

// --- the table

TEST(Patterns, AreFoundByName) {
  EXPECT_FALSE(patterns().empty());
  for (const Pattern* pattern : patterns()) EXPECT_EQ(find_pattern(pattern->name), pattern);
  EXPECT_EQ(find_pattern("all_reduces"), nullptr);
  EXPECT_THROW(pattern_of({.pattern = "all_reduces"}), std::runtime_error);
}

TEST(Patterns, SayWhatEachRankMultiplies) {
  const auto product = [](const std::string& pattern, const std::string& rest) {
    const Problem problem = plan(pattern, "dtype: bf16, world: 4, shape: {m: 8, n: 12, k: 5}" + rest, "host").problem;
    const Problem product = pattern_of(problem).product(problem);
    EXPECT_EQ(product.pattern, "matmul");
    EXPECT_EQ(product.dtype, Dtype::bf16);
    EXPECT_EQ(product.accumulate, Dtype::f32);
    return product.static_extents();
  };
  using iris::Extents;
  for (const char* pattern : {"matmul", "all_gather_matmul", "matmul_reduce_scatter", "matmul_all_reduce"}) {
    EXPECT_EQ(product(pattern, ""), (Extents{{"m", 8}, {"n", 12}, {"k", 5}})) << pattern;
  }
  EXPECT_EQ(product("matmul_all_gather", ""), (Extents{{"m", 2}, {"n", 12}, {"k", 5}}));
  EXPECT_EQ(product("matmul_all_gather", ", shard: n"), (Extents{{"m", 8}, {"n", 3}, {"k", 5}}));
  EXPECT_EQ(find_pattern("all_reduce")->product, nullptr);
}

TEST(Patterns, PlanEveryVariantDtypeAndWorldForEveryTarget) {
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) {
      for (const Dtype dtype : iris::all_dtypes) {
        if (iris::is_of_operands(dtype) && !keys_of(pattern->name).takes_layout) continue;
        if (variant.name == "atomic" && (dtype == Dtype::f16 || dtype == Dtype::bf16)) continue;
        for (const int world : {1, 2, 3, 8}) {
          for (const Target& target : targets()) {
            // Copy engines exchange the shards of one row.
            const bool one_row = pattern->name == "all_to_all" && variant.name == "copy_engine";
            const std::string shape = one_row ? "{n: 24}" : shape_of_pattern(pattern->name, "24");
            const std::string rest = "variant: " + std::string(variant.name) +
                                     ", dtype: " + std::string(to_string(dtype)) + ", world: " + std::to_string(world) +
                                     ", shape: " + shape;
            const Plan plan = irisgen::plan(std::string(pattern->name), rest, std::string(target.name));
            EXPECT_EQ(plan.variant, variant.name);
            for (const KernelPlan& kernel : plan.kernels) {
              // Every rank has a flag for each block of a barrier, or words that carry their own.
              const bool has_flags = kernel.flags >= kernel.number("blocks") * world;
              EXPECT_EQ(has_flags || kernel.variant.starts_with("low_latency"), kernel.waits) << kernel.symbol;
              EXPECT_EQ(kernel.number("threads") % target.wave, 0);
            }
            EXPECT_EQ(plan.arguments.back().access, iris::Access::write);
          }
        }
      }
    }
  }
}

/// It is no description's, and a plan like any other.
TEST(Patterns, PlanABarrierOfAllRanksForEveryTarget) {
  const std::vector<std::string> names = pattern_names();
  EXPECT_EQ(std::ranges::count(names, barrier_pattern), 0);
  const KernelSpec spec = {.name = "meet", .problem = {.pattern = std::string(barrier_pattern)}, .worlds = {3}};
  for (const Target& target : targets()) {
    const Plan plan = make_plan(spec, 3, target);
    EXPECT_TRUE(plan.arguments.empty() && plan.intermediates.empty());
    ASSERT_EQ(plan.kernels.size(), 1U);
    EXPECT_TRUE(plan.kernels[0].waits);
    EXPECT_EQ(plan.kernels[0].number("blocks"), 1);
    EXPECT_EQ(plan.kernels[0].flags, 3);
    EXPECT_EQ(plan.kernels[0].stem, "meet.w3." + std::string(target.name));
  }
}

// --- rules

TEST(Rules, NameTheVariantsThatThereAre) {
  const std::string text =
      "irisgen: 1\nkernels: [" + kernel_text("all_reduce", std::string(vector_f32) + ", variant: twoshot") + "]";
  try {
    parse_spec("spec.yaml", text);
    FAIL() << "accepted";
  } catch (const SpecError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown variant 'twoshot' for all_reduce; did you mean 'two_shot'?"),
              std::string::npos)
        << error.what();
  }
}

TEST(Rules, RefuseConfigThatNoVariantUses) {
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {tile_m: 16}", "host",
                 "all_reduce does not use 'tile_m'; it uses blocks, threads, vector, comm_blocks, chunk, timeout_ms");
  expect_refused("all_reduce", std::string(vector_f32) + ", variant: two_shot, config: {chunk: 64}", "host",
                 "all_reduce (two_shot) does not use 'chunk'");
  expect_planned("all_reduce", std::string(vector_f32) + ", variant: ring, config: {chunk: 64}", "host");
}

TEST(Rules, LetAKeyOfConfigChooseTheVariantThatUsesIt) {
  EXPECT_EQ(plan("all_reduce", std::string(vector_f32) + ", config: {chunk: 64}", "host").variant,
            "workgroup_specialized");
  EXPECT_EQ(plan("all_gather", "dtype: bf16, world: 8, shape: {n: 268435456}", "sm_90a").variant, "copy_engine");
  EXPECT_EQ(
      plan("all_gather", "dtype: bf16, world: 8, shape: {n: 268435456}, config: {threads: 256}", "sm_90a").variant,
      "direct");
}

TEST(Rules, WantRowsThatDivideAmongTheRanks) {
  for (const char* pattern : {"all_gather_matmul", "matmul_reduce_scatter"}) {
    const Spec spec = spec_of({kernel_text(pattern, "dtype: f32, world: [2, 3], shape: {m: 100, n: 8, k: 8}")});
    EXPECT_NO_THROW(make_plan(spec.kernels[0], 2, *find_target("host")));
    try {
      make_plan(spec.kernels[0], 3, *find_target("host"));
      FAIL() << pattern;
    } catch (const SpecError& error) {
      EXPECT_NE(
          std::string(error.what()).find("m = 100 rows cannot be divided among 3 ranks; write 102, the next multiple"),
          std::string::npos)
          << error.what();
    }
  }
  expect_planned("matmul_reduce_scatter", "dtype: f32, world: 3, shape: {m: dynamic, n: 8, k: 8}", "host");
  expect_planned("matmul_all_reduce", "dtype: f32, world: 3, shape: {m: 100, n: 8, k: 8}", "host");
}

// --- choices

TEST(AllReduce, RingMovesPartialSumsInTheAccumulatorsWidth) {
  const Plan ring = plan("all_reduce", "dtype: f16, world: 3, shape: {n: 100}, variant: ring", "gfx942");
  const KernelPlan& kernel = ring.kernels.at(0);
  EXPECT_EQ(kernel.number("vector"), 4);                       // 16 bytes of f32
  EXPECT_EQ(kernel.flags, (3 + 2) * kernel.number("blocks"));  // of the barrier, and one for each direction
  EXPECT_EQ(kernel.workspace.terms, std::vector<iris::ByteSize::Term>({{2 * 512, {}}}));  // 400 bytes, rounded up
}

TEST(Vector, IsAsWideAsRunsAllow) {
  const auto vector = [](const std::string& pattern, const std::string& shape, const std::string& more = "") {
    return number(plan(pattern, "dtype: f32, world: 8, shape: " + shape + more, "host"), "vector");
  };
  EXPECT_EQ(vector("all_reduce", "{n: 85002}", ", variant: two_shot"), 4);  // what is left over goes one by one
  const std::string direct = ", variant: direct";
  EXPECT_EQ(vector("all_gather", "{n: 85002}", direct), 2);  // shards must begin on a boundary
  EXPECT_EQ(vector("all_gather", "{m: 2, n: 85002}", direct), 4);
  EXPECT_EQ(vector("all_gather", "{m: 2, n: 85002}", ", shard: n"), 2);  // every row of a shard must
  EXPECT_EQ(vector("all_to_all", "{m: 2, n: 85002}"), 2);
  const std::string lines = ", variant: low_latency";
  EXPECT_EQ(vector("all_reduce", "{n: 30}", lines), 2);  // 8 bytes
  EXPECT_EQ(vector("all_gather", "{n: 33}", lines), 1);
  EXPECT_EQ(vector("all_reduce", "{n: 85002}", lines), 1);  // lines of 12 bytes begin on boundaries of 4
  EXPECT_EQ(vector("all_to_all", "{n: 7}"), 1);
  EXPECT_EQ(vector("all_gather", "{n: dynamic}", direct), 4);
}

TEST(Vector, IsTheUsersWherePossibleAndRefusedElsewhere) {
  const Plan set = plan("all_reduce", std::string(vector_f32) + ", config: {vector: 1}", "host");
  EXPECT_EQ(number(set, "vector"), 1);
  EXPECT_EQ(constant(set, "vector").reason, "set in config");
  expect_refused("all_gather", std::string(vector_f32) + ", config: {vector: 4}", "host",
                 "a vector of 4 does not divide runs of 85002 elements, which would be unaligned; write 2 at most");
  expect_refused("all_reduce", "dtype: f16, world: 2, shape: {n: 8}, variant: ring, config: {vector: 8}", "host",
                 "a vector of 8 f32 is more than 16 bytes; write 4 at most");
}

TEST(Grid, KeepsWhatTheUserSetAndRefusesWhatCannotRun) {
  const Plan set = plan("all_reduce", std::string(vector_f32) + ", config: {blocks: 7, threads: 192}", "gfx942");
  EXPECT_EQ(number(set, "blocks"), 7);
  EXPECT_EQ(number(set, "threads"), 192);
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {threads: 100}", "gfx942",
                 "threads must be from 64 to 1024, a multiple of 64");
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {blocks: 1000, threads: 1024}", "sm_90a",
                 "1000 blocks of 1024 threads are not resident together; write from 1 to 132 blocks");
  expect_planned("all_reduce", std::string(vector_f32) + ", config: {threads: 100}", "host");
  // A matmul alone waits for nobody, so that its grid may be any.
  expect_planned("matmul", "dtype: f32, world: 2, shape: {m: 8, n: 8, k: 8}, config: {blocks: 5000}", "sm_90a");
}

/// Of as many threads as others, in twice as many blocks.
TEST(Grid, OfLinesHasMoreAndSmallerBlocks) {
  const std::string rest = "dtype: bf16, world: 4, shape: {n: 16777216}";
  for (const char* pattern : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    for (const char* target : {"sm_90a", "gfx942"}) {
      const Plan lines = plan(pattern, rest + ", variant: low_latency", target);
      EXPECT_EQ(number(lines, "threads"), 256) << pattern << " on " << target;
      EXPECT_EQ(number(lines, "blocks"), 128) << pattern << " on " << target;
    }
  }
  EXPECT_EQ(number(plan("all_reduce", rest + ", variant: low_latency, config: {threads: 1024}", "sm_90a"), "blocks"),
            128);
}

TEST(CopyEngine, TakesAllToAllOfOneRowOnly) {
  EXPECT_EQ(plan("all_to_all", "dtype: bf16, world: 4, shape: {n: 268435456}", "sm_90a").variant, "copy_engine");
  EXPECT_EQ(plan("all_to_all", "dtype: bf16, world: 4, shape: {m: 2, n: 134217728}", "sm_90a").variant, "direct");
  expect_refused("all_to_all", "variant: copy_engine, dtype: f16, world: 4, shape: {m: dynamic, n: 5}", "host",
                 "copies whole shards, which several rows are not made of; take direct");
}

TEST(ReduceScatterAllGather, CutsColumnsThatDivideAmongTheRanks) {
  EXPECT_EQ(plan("all_reduce", "dtype: bf16, world: 4, shape: {n: 536870912}", "sm_90a").variant,
            "reduce_scatter_all_gather");
  EXPECT_EQ(plan("all_reduce", "dtype: bf16, world: 4, shape: {n: 536870913}", "sm_90a").variant,
            "workgroup_specialized");
  expect_refused("all_reduce", "variant: reduce_scatter_all_gather, dtype: f16, world: 4, shape: {n: dynamic}", "host",
                 "cuts n, known and a multiple of world, into shards; take two_shot");
  const Plan small = plan("all_reduce",
                          "variant: reduce_scatter_all_gather, dtype: bf16, world: 4, shape: {n: 4096}, "
                          "config: {blocks: 3}",
                          "sm_90a");
  for (const KernelPlan& kernel : small.kernels) EXPECT_EQ(kernel.number("blocks"), 3) << kernel.part;
  // As a part, with a buffer of its own.
  const Plan whole =
      plan("matmul_all_reduce", "variant: bulk_synchronous, dtype: bf16, world: 4, shape: {m: 131072, n: 8192, k: 128}",
           "sm_90a");
  ASSERT_EQ(whole.intermediates.size(), 2u);
  EXPECT_EQ(whole.intermediates[1].name, "all_reduce_shard");
  EXPECT_EQ(whole.intermediates[1].shape, (std::vector<iris::Dimension>{{"m"}, {"n", 1, 4}}));
}

/// Some sizes of m by kernels alone, the largest with a buffer between two parts, the second of which copies.
TEST(ReduceScatterAllGather, ServesSomeSizesOfDynamicRows) {
  const Plan joined = plan("all_reduce", "dtype: bf16, world: 4, shape: {m: dynamic, n: 4096}", "sm_90a");
  EXPECT_EQ(joined.variant, "by_size");
  ASSERT_EQ(joined.intermediates.size(), 1u);
  EXPECT_EQ(joined.intermediates[0].shape, (std::vector<iris::Dimension>{{"m"}, {"n", 1, 4}}));
  ASSERT_GE(joined.schedules.size(), 2u);
  EXPECT_EQ(joined.schedules[joined.schedules.size() - 2].steps.size(), 1u);
  const auto copies = [](const iris::Step& step) { return std::holds_alternative<iris::CopyStep>(step.action); };
  EXPECT_EQ(std::ranges::count_if(joined.schedules.back().steps, copies), 3);
}

TEST(Broadcast, IsScatteredAndGatheredWhereItIsLarge) {
  const auto variant = [](const std::string& n) {
    return plan("broadcast", "dtype: bf16, world: 4, shape: {n: " + n + "}", "sm_90a").variant;
  };
  EXPECT_EQ(variant("1024"), "low_latency");
  EXPECT_EQ(variant("524288"), "low_latency_scatter_gather");
  EXPECT_EQ(variant("4194304"), "low_latency_scatter_gather");
  EXPECT_EQ(variant("16777216"), "scatter_gather");
  EXPECT_EQ(variant("536870912"), "chain");
  EXPECT_EQ(plan("broadcast", "dtype: bf16, world: 2, shape: {n: 4194304}", "sm_90a").variant, "direct");
  EXPECT_EQ(plan("broadcast", "dtype: bf16, world: 2, shape: {n: 33554432}", "sm_90a").variant, "chain");
}

TEST(CopyEngine, CopiesToEveryPeerBetweenTwoBarriers) {
  const Plan copies =
      plan("all_gather", "variant: copy_engine, dtype: f16, world: 4, shape: {m: 3, n: dynamic}", "sm_90a");
  const std::vector<iris::Step>& steps = copies.schedules.at(0).steps;
  EXPECT_TRUE(std::holds_alternative<iris::LaunchStep>(steps.front().action));
  EXPECT_TRUE(std::holds_alternative<iris::LaunchStep>(steps.back().action));
  std::vector<int> offsets;
  for (const iris::Step& step : steps) {
    const auto* copy = std::get_if<iris::CopyStep>(&step.action);
    if (!copy) continue;
    offsets.push_back(copy->peer_offset);
    EXPECT_EQ(copy->to_block, iris::BlockIndex::rank);
    EXPECT_EQ(copy->shape, (std::vector<iris::Dimension>{{"m"}, {"n"}}));
  }
  EXPECT_EQ(offsets, (std::vector<int>{1, 2, 3}));
}

/// A kernel of few blocks, which memory hardly feels, unless there is nothing else to copy.
TEST(CopyEngine, LeavesTheOwnShardToAKernelBeside) {
  const auto launch_beside = [](const Plan& copies) {
    std::vector<iris::LaunchStep> launches;
    for (const iris::Step& step : copies.schedules.at(0).steps) {
      if (step.stream == 1 && std::holds_alternative<iris::LaunchStep>(step.action))
        launches.push_back(std::get<iris::LaunchStep>(step.action));
    }
    return launches.size() == 1 ? launches.front() : iris::LaunchStep{.kernel = -1};
  };
  for (const auto& [pattern, shards] : {std::pair{"all_gather", 1}, {"all_to_all", 4}}) {
    const std::string rest = "variant: copy_engine, dtype: bf16, shape: {n: 33554432}, world: ";
    const Plan copies = plan(pattern, rest + "4", "sm_90a");
    const iris::LaunchStep launch = launch_beside(copies);
    ASSERT_EQ(launch.kernel, 1) << pattern;
    EXPECT_EQ(launch.buffers, (std::vector<std::string>{"input", "output"}));
    EXPECT_EQ(copies.kernels.at(1).number("input_shards"), shards) << pattern;
    EXPECT_EQ(copies.kernels.at(1).number("blocks"), 16) << pattern;
    EXPECT_EQ(plan(pattern, rest + "1", "sm_90a").kernels.at(1).number("blocks"), 64) << pattern;
  }
}

TEST(CopyEngine, LeavesColumnsToTheKernel) {
  expect_refused("all_gather", "variant: copy_engine, shard: n, dtype: f16, world: 4, shape: {m: 3, n: 5}", "host",
                 "columns are not contiguous; take direct");
  EXPECT_EQ(plan("all_gather", "shard: n, dtype: f16, world: 4, shape: {m: 4096, n: 65536}", "host").variant, "direct");
}

TEST(InPlace, IsAsEachVariantAllows) {
  using iris::InPlace;
  const auto expect = [](const std::string& pattern, const std::string& variant, InPlace in_place) {
    const std::string rest = "variant: " + variant + ", dtype: bf16, world: 4, shape: {n: 64}";
    EXPECT_EQ(plan(pattern, rest, "sm_90a").in_place, in_place) << pattern << " " << variant;
  };
  for (const char* variant : {"one_shot", "low_latency", "low_latency_two_shot", "two_shot", "workgroup_specialized",
                              "reduce_scatter_all_gather", "ring"}) {
    expect("all_reduce", variant, InPlace::same_buffer);
  }
  for (const char* variant : {"direct", "low_latency", "copy_engine"}) {
    expect("all_gather", variant, InPlace::own_block);
  }
  expect("reduce_scatter", "workgroup_specialized", InPlace::own_block);
  for (const char* variant : {"direct", "low_latency"}) {
    expect("reduce_scatter", variant, InPlace::own_block);
    expect("all_gather", std::string(variant) + ", shard: n", InPlace::no);
  }
  for (const char* variant : {"direct", "low_latency", "low_latency_scatter_gather", "scatter_gather", "chain"}) {
    expect("broadcast", variant, InPlace::same_buffer);
  }
  expect("all_to_all", "low_latency", InPlace::same_buffer);
  expect("all_to_all", "direct", InPlace::no);
  expect("all_to_all", "copy_engine", InPlace::no);
}

/// An operation of several variants promises what all of them do.
TEST(InPlace, IsForEverySizeOfAnOperation) {
  const auto of_any_size = [](const std::string& pattern) {
    const Plan planned = plan(pattern, "dtype: bf16, world: 4, shape: {n: dynamic}", "sm_90a");
    EXPECT_EQ(planned.variant, "by_size");
    return planned.in_place;
  };
  EXPECT_EQ(of_any_size("all_gather"), iris::InPlace::own_block);
  EXPECT_EQ(of_any_size("all_reduce"), iris::InPlace::same_buffer);
  EXPECT_EQ(of_any_size("all_to_all"), iris::InPlace::no) << "small ones alone could be";
}

TEST(Parts, TakeTheirOwnProblemsOfTheWhole) {
  const Plan whole = plan("matmul_all_reduce",
                          "variant: bulk_synchronous, dtype: bf16, world: 4, "
                          "shape: {m: 64, n: 32, k: 128}, config: {tile_m: 32}",
                          "sm_90a");
  ASSERT_EQ(whole.kernels.size(), 2u);
  const Problem& product = whole.kernels[0].problem;
  EXPECT_EQ(product.pattern, "matmul");
  EXPECT_EQ(product.result, Dtype::bf16);
  EXPECT_EQ(whole.kernels[0].number("tile_m"), 32);
  const Problem& sum = whole.kernels[1].problem;
  EXPECT_EQ(sum.pattern, "all_reduce");
  EXPECT_EQ(sum.dtype, Dtype::bf16);
  EXPECT_EQ(sum.accumulate, Dtype::f32);
  EXPECT_EQ(iris::size_of(sum), 64 * 32);
}

}  // namespace
}  // namespace irisgen::patterns_test
