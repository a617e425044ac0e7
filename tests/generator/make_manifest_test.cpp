#include <gtest/gtest.h>

#include "iris/manifest.hpp"
#include "irisgen/source.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::make_manifest_test {
namespace {

using iris::Manifest;

Manifest manifest_of(const std::string& kernel, const std::string& target) {
  const Plan plan = plan_of(kernel, target);
  return make_manifest(plan, emit_sources(plan));
}

TEST(MakeManifest, SaysWhatWasPlanned) {
  const Manifest manifest = manifest_of(
      "{name: a, pattern: reduce_scatter, variant: direct, dtype: f16, accumulate: f64, op: min, world: 3, shape: {m: "
      "4, n: dynamic}, "
      "config: {blocks: 5, threads: 96, timeout_ms: 250}}",
      "host");
  EXPECT_EQ(manifest.name, "a");
  EXPECT_EQ(manifest.target, "host");
  EXPECT_EQ(manifest.variant, "direct");
  EXPECT_EQ(manifest.problem.pattern, "reduce_scatter");
  EXPECT_EQ(manifest.problem.dtype, Dtype::f16);
  EXPECT_EQ(manifest.problem.accumulate, Dtype::f64);
  EXPECT_EQ(manifest.problem.op, Op::min);
  EXPECT_EQ(manifest.problem.root, std::nullopt);
  EXPECT_EQ(manifest.problem.world, 3);
  EXPECT_EQ(manifest.problem.extent("m").value, 4);
  EXPECT_FALSE(manifest.problem.extent("m").dynamic);
  EXPECT_TRUE(manifest.problem.extent("n").dynamic);
  EXPECT_EQ(manifest.timeout_ms, 250);
  EXPECT_EQ(manifest.in_place, iris::InPlace::own_block);
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_EQ(manifest.kernels[0].symbol, "a_direct_f16_min_w3_m4_dynamic_n");
  EXPECT_EQ(manifest.kernels[0].blocks, 5);
  EXPECT_EQ(manifest.kernels[0].threads, 96);
  EXPECT_EQ(manifest.kernels[0].flags, 15);
  ASSERT_EQ(manifest.schedules.size(), 1u);
  EXPECT_EQ(manifest.schedules[0].steps,
            std::vector<iris::Step>({{0, iris::LaunchStep{0, {"input", "output"}, {{"n"}}}}}));
}

TEST(MakeManifest, SaysTheRootAndTheWorkspace) {
  EXPECT_EQ(
      manifest_of("{name: a, pattern: broadcast, dtype: f32, root: 2, world: 3, shape: {n: 7}}", "host").problem.root,
      2);
  const Manifest one_shot =
      manifest_of("{name: a, pattern: all_reduce, variant: one_shot, dtype: f32, world: 3, shape: {n: 100}}", "host");
  EXPECT_EQ(one_shot.in_place, iris::InPlace::same_buffer);
  EXPECT_EQ(one_shot.kernels[0].workspace.terms,  // 3 slots of 400 bytes, rounded up to 256
            std::vector<iris::ByteSize::Term>({{2 * 1280, {}}}));
}

TEST(MakeManifest, SaysWhichLaunchesMayBeSetUpEarly) {
  const Manifest manifest = manifest_of(
      "{name: a, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: bf16, world: 2, layout: {b: nk}, "
      "shape: {m: 32, n: 136, k: 328}}",
      "sm_90a");
  ASSERT_EQ(manifest.kernels.size(), 2u);
  EXPECT_TRUE(manifest.kernels[0].lets_next_begin);
  EXPECT_FALSE(manifest.kernels[0].dependent_launch);
  EXPECT_TRUE(manifest.kernels[1].dependent_launch);
  EXPECT_FALSE(manifest.kernels[1].lets_next_begin);
  EXPECT_EQ(to_json(iris::parse_manifest(to_json(manifest))), to_json(manifest));
}

TEST(MakeManifest, JoinsPartsByIntermediateBuffers) {
  const Manifest manifest = manifest_of(
      "{name: a, pattern: matmul_reduce_scatter, variant: bulk_synchronous, dtype: bf16, world: 4, "
      "shape: {m: dynamic, n: 24, k: 16}, config: {tile_m: 64, tile_n: 32}}",
      "gfx942");
  EXPECT_EQ(manifest.variant, "bulk_synchronous");
  ASSERT_EQ(manifest.intermediates.size(), 1u);
  EXPECT_EQ(manifest.intermediates[0].dtype, Dtype::bf16) << "half the bytes over the links";
  EXPECT_EQ(manifest.intermediates[0].shape, (std::vector<iris::Dimension>{{"m"}, {"n"}}));
  ASSERT_EQ(manifest.kernels.size(), 2u);
  EXPECT_EQ(manifest.kernels[0].part, "matmul");
  EXPECT_FALSE(manifest.kernels[0].waits);
  EXPECT_EQ(manifest.kernels[1].part, "reduce_scatter");
  EXPECT_TRUE(manifest.kernels[1].waits);
  const std::string between = manifest.intermediates[0].name;
  EXPECT_EQ(manifest.schedules[0].steps,
            std::vector<iris::Step>({{0, iris::LaunchStep{.kernel = 0,
                                                          .buffers = {"a", "b", between},
                                                          .extents = {{"m"}},
                                                          .tiles = iris::TileCount{{"m"}, {"n"}, 64, 32}}},
                                     {0, iris::LaunchStep{1, {between, "output"}, {{"m", 1, 4}}}}}));
}

TEST(MakeManifest, SaysWhatTensorCopiesRead) {
  const std::string layer = "{name: a, pattern: all_gather_matmul, dtype: bf16, world: 4, variant: ";
  const Manifest gathered = manifest_of(layer + "workgroup_specialized, shape: {m: 512, n: 256, k: 64}}", "sm_90a");
  using iris::MatrixMap;
  EXPECT_EQ(std::get<iris::LaunchStep>(gathered.schedules[0].steps[0].action).maps,
            (std::vector<MatrixMap>{{"a", Dtype::bf16, {"m", 1, 4}, {"k"}, 128, 64},
                                    {"b", Dtype::bf16, {"k"}, {"n"}, 64, 64}}));
  EXPECT_EQ(to_json(iris::parse_manifest(to_json(gathered))), to_json(gathered));
  // Of 200 rows 72 are left for the last box.
  const Manifest ragged = manifest_of(layer + "workgroup_specialized, shape: {m: 800, n: 256, k: 64}}", "sm_90a");
  EXPECT_EQ(std::get<iris::LaunchStep>(ragged.schedules[0].steps[0].action).maps.at(1),
            (MatrixMap{"a", Dtype::bf16, {"m", 1, 4}, {"k"}, 128, 64, /*last_of=*/iris::Dimension{"m", 1, 4}}));
  EXPECT_EQ(to_json(iris::parse_manifest(to_json(ragged))), to_json(ragged));
  // Of tf32 a box has 32 columns.
  const Manifest words = manifest_of(
      "{name: a, pattern: matmul, dtype: tf32, world: 1, layout: {b: nk}, shape: {m: 64, n: 64, k: 64}}", "sm_90a");
  EXPECT_EQ(std::get<iris::LaunchStep>(words.schedules[0].steps[0].action).maps.at(0).box_columns, 32);
  EXPECT_EQ(to_json(iris::parse_manifest(to_json(words))), to_json(words));
  // A part's maps are of the whole's buffers.
  const Manifest parts = manifest_of(layer + "bulk_synchronous, shape: {m: 512, n: 256, k: 64}}", "sm_90a");
  EXPECT_EQ(std::get<iris::LaunchStep>(parts.schedules[0].steps.back().action).maps,
            (std::vector<MatrixMap>{{"gathered", Dtype::bf16, {"m"}, {"k"}, 64, 64},
                                    {"b", Dtype::bf16, {"k"}, {"n"}, 64, 64}}));
}

}  // namespace
}  // namespace irisgen::make_manifest_test
