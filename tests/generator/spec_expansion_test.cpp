// Kernels that a description does not spell out: by defaults, by lists and by overrides.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "irisgen/spec.hpp"
#include "spec_samples.hpp"

namespace irisgen::spec_expansion_test {
namespace {

constexpr const char* with_defaults = R"(irisgen: 1
defaults: {pattern: all_reduce, dtype: bf16, world: [2, 4], config: {threads: 256, timeout_ms: 50}}
kernels:
  - {name: a, shape: {n: 10}}
  - {name: b, shape: {n: 20}, world: 8, config: {threads: 128}}
  - {name: c, shape: {n: 30}, dtype: f32, op: max}
)";

TEST(defaults, fill_in_what_a_kernel_leaves_out) {
  const Spec spec = parse_spec("s", with_defaults);
  ASSERT_EQ(spec.kernels.size(), 3U);
  EXPECT_EQ(spec.kernels[0].problem.pattern, "all_reduce");
  EXPECT_EQ(spec.kernels[0].worlds, (std::vector<int>{2, 4}));
  EXPECT_EQ(spec.kernels[1].worlds, std::vector<int>{8}) << "the kernel's own key wins";
  EXPECT_EQ(spec.kernels[1].config.at("threads").value, 128);
  EXPECT_EQ(spec.kernels[1].config.at("timeout_ms").value, 50) << "maps are joined key by key";
  EXPECT_EQ(spec.kernels[2].problem.dtype, Dtype::f32);
  EXPECT_EQ(spec.kernels[2].problem.op, Op::max);
}

TEST(defaults, are_held_to_the_rules_of_the_kernel_they_go_to) {
  EXPECT_EQ(error_of("irisgen: 1\ndefaults: {op: max}\nkernels: [{name: a, pattern: broadcast, dtype: f32, world: 2, "
                     "shape: {n: 1}}]\n"),
            "broadcast takes no 'op'; remove it");
  EXPECT_EQ(error_of("irisgen: 1\ndefaults: {name: a}\nkernels: []\n"),
            "unknown key 'name' of defaults; one of: pattern, source, entry, constants, arguments, reference, dtype, "
            "accumulate, op, root, shard, layout, world, shape, variant, config, tune, prologue, epilogue");
  EXPECT_EQ(error_of("irisgen: 1\ndefaults: {dtype: f32}\nkernels: [{name: a, pattern: broadcast, shape: {n: 1}}]\n"),
            "missing key 'world' of a kernel; add world: an integer from 1 to 16 or a list");
}

std::vector<std::string> names_of(const Spec& spec) {
  std::vector<std::string> names;
  for (const KernelSpec& kernel : spec.kernels) names.push_back(kernel.name);
  return names;
}

TEST(lists, make_one_kernel_of_each_dtype_and_shape) {
  const Spec spec = parse_spec("s",
                               "{irisgen: 1, kernels: [{name: sum, pattern: all_reduce, dtype: [f32, bf16], world: 2, "
                               "shape: [{n: 8}, {m: 3, n: dynamic}]}]}");
  EXPECT_EQ(names_of(spec),
            (std::vector<std::string>{"sum_f32_n8", "sum_f32_m3_n_dynamic", "sum_bf16_n8", "sum_bf16_m3_n_dynamic"}));
  for (const KernelSpec& kernel : spec.kernels) EXPECT_EQ(kernel.written_name, "sum");
  EXPECT_EQ(spec.kernels[2].problem.dtype, Dtype::bf16);
  EXPECT_EQ(spec.kernels[2].problem.accumulate, Dtype::f32);
  EXPECT_TRUE(spec.kernels[3].problem.extent("n").dynamic);
}

TEST(lists, of_one_name_the_kernel_all_the_same) {
  const Spec spec = parse_spec(
      "s", "{irisgen: 1, kernels: [{name: sum, pattern: all_reduce, dtype: [f32], world: 2, shape: {n: 8}}]}");
  EXPECT_EQ(names_of(spec), std::vector<std::string>{"sum_f32"});
}

TEST(lists, refuse_two_kernels_of_one_name) {
  EXPECT_EQ(error_of("{irisgen: 1, kernels: [{name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: [{n: 8}, "
                     "{n: 8}]}]}"),
            "another kernel is named 'sum_n8' already; choose another name");
  EXPECT_EQ(error_of("{irisgen: 1, kernels: [{name: sum, pattern: all_reduce, dtype: [f32, f32], world: 2, shape: {n: "
                     "8}}]}"),
            "dtype has f32 twice; remove one");
}

TEST(overrides, replace_the_world_of_every_kernel) {
  const Spec spec = parse_spec("s", with_defaults, {.world = 5});
  for (const KernelSpec& kernel : spec.kernels) EXPECT_EQ(kernel.worlds, std::vector<int>{5}) << kernel.name;
}

TEST(overrides, are_held_to_every_rule) {
  const auto error = [](const std::string& more, int world) {
    try {
      parse_spec("s.yaml", spec_with("broadcast", "n: 8", more), {.world = world});
      return std::string();
    } catch (const SpecError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(error("", 16), "");
  EXPECT_EQ(error("", 17), "--world: error: world must be an integer from 1 to 16, not 17");
  EXPECT_NE(error(", root: 3", 3).find("root 3 is not a rank of a world of 3 (--world); ranks go from 0 to 2"),
            std::string::npos)
      << error(", root: 3", 3);
}

}  // namespace
}  // namespace irisgen::spec_expansion_test
