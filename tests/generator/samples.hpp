#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {

/// A specification of these kernels, each a flow mapping: `{name: a, pattern: broadcast, dtype: f32, …}`.
inline Spec spec_of(const std::vector<std::string>& kernels) {
  std::string text = "irisgen: 1\nkernels:\n";
  for (const std::string& kernel : kernels) text += "  - " + kernel + "\n";
  return parse_spec("test.yaml", text);
}

inline Plan plan_of(const std::string& kernel, const std::string& target) {
  const KernelSpec spec = spec_of({kernel}).kernels.at(0);
  return make_plan(spec, spec.worlds.at(0), *find_target(target));
}

/// What planning says against a kernel; empty if it can be planned.
inline std::string refusal(const std::string& kernel, const std::string& target) {
  try {
    plan_of(kernel, target);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "";
}

/// A kernel of that pattern, of which `rest` is the rest.
inline std::string kernel_text(const std::string& pattern, const std::string& rest) {
  return "{name: a, pattern: " + pattern + ", " + rest + "}";
}

inline Plan plan(const std::string& pattern, const std::string& rest, const std::string& target) {
  return plan_of(kernel_text(pattern, rest), target);
}

inline void expect_planned(const std::string& pattern, const std::string& rest, const std::string& target) {
  EXPECT_EQ(refusal(kernel_text(pattern, rest), target), "");
}

inline void expect_refused(const std::string& pattern, const std::string& rest, const std::string& target,
                           const std::string& words) {
  const std::string message = refusal(kernel_text(pattern, rest), target);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

/// Of the plan's first kernel.
inline const Constant& constant(const Plan& plan, std::string_view name) {
  const auto& constants = plan.kernels.at(0).constants;
  const auto found = std::ranges::find(constants, name, &Constant::name);
  if (found == constants.end()) throw std::runtime_error("no constant " + std::string(name));
  return *found;
}

/// A number of the plan's only kernel.
inline std::int64_t number(const Plan& plan, std::string_view constant) {
  return plan.kernels.at(0).number(constant);
}

/// One kernel of each pattern and variant, small, of many dtypes; see also goldens/.
inline const std::vector<std::string>& kernels_of_every_template() {
  static const std::vector<std::string> kernels = {
      "{name: one, pattern: all_reduce, variant: one_shot, dtype: f32, op: max, world: 4, shape: {n: 1000}}",
      "{name: words, pattern: all_reduce, variant: low_latency, dtype: f16, world: 3, shape: {m: 3, n: 71}}",
      "{name: two_of_words, pattern: all_reduce, variant: low_latency_two_shot, dtype: bf16, world: 3, shape: {m: 3, "
      "n: "
      "71}}",
      "{name: two, pattern: all_reduce, variant: two_shot, dtype: bf16, world: 8, shape: {m: 7, n: 1001}}",
      "{name: phases, pattern: all_reduce, variant: reduce_scatter_all_gather, dtype: f16, world: 3, shape: {m: 5, n: "
      "66}}",
      "{name: ring, pattern: all_reduce, variant: ring, dtype: i32, op: prod, world: 3, shape: {n: dynamic}}",
      "{name: adds, pattern: all_reduce, variant: atomic, dtype: f32, world: 4, shape: {m: 3, n: 333}}",
      "{name: locks, pattern: all_reduce, variant: spinlock, dtype: f16, world: 3, shape: {n: 1000}}",
      "{name: any, pattern: all_reduce, dtype: bf16, world: 3, shape: {n: dynamic}}",
      "{name: sum_in_chunks, pattern: all_reduce, variant: workgroup_specialized, dtype: f16, world: 5, shape: {n: "
      "dynamic}}",
      "{name: gather, pattern: all_gather, variant: direct, dtype: f16, world: 5, shape: {m: 3, n: dynamic}}",
      "{name: gather_words, pattern: all_gather, variant: low_latency, dtype: bf16, world: 3, shape: {n: dynamic}}",
      "{name: columns_words, pattern: all_gather, variant: low_latency, shard: n, dtype: f32, world: 2, "
      "shape: {m: 5, n: dynamic}}",
      "{name: columns, pattern: all_gather, variant: direct, shard: n, dtype: f32, world: 3, shape: {m: dynamic, n: "
      "6}}",
      "{name: copies, pattern: all_gather, variant: copy_engine, dtype: f16, world: 4, shape: {m: 3, n: dynamic}}",
      "{name: scatter_words, pattern: reduce_scatter, variant: low_latency, dtype: bf16, world: 4, shape: {n: 37}}",
      "{name: scatter, pattern: reduce_scatter, variant: direct, dtype: f64, op: min, world: 2, shape: {m: dynamic, n: "
      "10}}",
      "{name: scatter_in_chunks, pattern: reduce_scatter, variant: workgroup_specialized, dtype: bf16, world: 3, "
      "shape: {m: 5, n: 777}}",
      "{name: transpose_words, pattern: all_to_all, variant: low_latency, dtype: f64, world: 3, "
      "shape: {m: dynamic, n: 7}}",
      "{name: transpose_copies, pattern: all_to_all, variant: copy_engine, dtype: bf16, world: 3, shape: {n: dynamic}}",
      "{name: transpose, pattern: all_to_all, variant: direct, dtype: i32, world: 8, shape: {m: 4, n: 6}}",
      "{name: cast_words, pattern: broadcast, variant: low_latency, dtype: i32, root: 1, world: 3, shape: {n: "
      "dynamic}}",
      "{name: cast_parts_of_words, pattern: broadcast, variant: low_latency_scatter_gather, dtype: f16, root: 2, "
      "world: 4, shape: {n: 40}}",
      "{name: cast_in_parts, pattern: broadcast, variant: scatter_gather, dtype: f32, root: 2, world: 4, "
      "shape: {m: 3, n: 333}}",
      "{name: cast_in_turn, pattern: broadcast, variant: chain, dtype: bf16, root: 1, world: 4, shape: {n: dynamic}}",
      "{name: cast, pattern: broadcast, variant: direct, dtype: bf16, root: 2, world: 3, shape: {n: 77}}",
      "{name: product, pattern: matmul, dtype: f16, world: 2, shape: {m: 33, n: 20, k: 50}}",
      "{name: deep, pattern: matmul, variant: split_k, dtype: bf16, world: 2, shape: {m: 3, n: 24, k: 520}}",
      "{name: odd_rows, pattern: matmul, variant: padded, dtype: bf16, world: 2, shape: {m: 33, n: 21, k: 51}}",
      "{name: linear, pattern: matmul, layout: {b: nk}, dtype: bf16, world: 2, shape: {m: 33, n: 20, k: 48}}",
      "{name: quantized, pattern: matmul, dtype: e4m3, world: 2, shape: {m: 33, n: 20, k: 48}}",
      "{name: rounded, pattern: matmul, layout: {b: nk}, dtype: tf32, world: 2, shape: {m: 33, n: 20, k: 48}}",
      "{name: exact, pattern: matmul, dtype: f64, world: 2, shape: {m: 33, n: 20, k: 50}}",
      "{name: layer, pattern: all_gather_matmul, variant: workgroup_specialized, dtype: f16, world: 4, "
      "shape: {m: 64, n: 48, k: 40}}",
      "{name: layer_in_turn, pattern: all_gather_matmul, variant: fused_sequential, dtype: bf16, world: 3, "
      "shape: {m: 63, n: 48, k: 40}}",
      "{name: layer_by_copies, pattern: all_gather_matmul, variant: producer_consumer, dtype: bf16, world: 3, "
      "shape: {m: 63, n: 48, k: 40}}",
      "{name: layer_together, pattern: all_gather_matmul, variant: rows_together, dtype: bf16, world: 3, "
      "layout: {b: nk}, shape: {m: 63, n: 48, k: 40}}",
      "{name: layer_parts, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: f16, world: 4, "
      "shape: {m: 64, n: dynamic, k: 40}}",
      "{name: layer_beside, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: bf16, world: 2, "
      "layout: {b: nk}, shape: {m: 32, n: 136, k: 328}}",
      "{name: rows, pattern: matmul_reduce_scatter, variant: workgroup_specialized, dtype: f32, world: 2, "
      "shape: {m: 32, n: 20, k: 50}}",
      "{name: rows_in_turn, pattern: matmul_reduce_scatter, variant: fused_sequential, dtype: bf16, world: 2, "
      "shape: {m: 64, n: 32, k: 48}}",
      "{name: rows_by_copies, pattern: matmul_reduce_scatter, variant: producer_consumer, dtype: f32, world: 3, "
      "shape: {m: dynamic, n: 20, k: 50}}",
      "{name: rows_in_lines, pattern: matmul_reduce_scatter, variant: low_latency, dtype: f16, world: 3, "
      "shape: {m: 9, n: 33, k: 48}}",
      "{name: rows_parts, pattern: matmul_reduce_scatter, variant: bulk_synchronous, dtype: bf16, world: 2, "
      "shape: {m: 32, n: 20, k: 50}}",
      "{name: total, pattern: matmul_all_reduce, variant: workgroup_specialized, dtype: bf16, world: 3, "
      "shape: {m: 32, n: 20, k: 50}}",
      "{name: total_in_turn, pattern: matmul_all_reduce, variant: fused_sequential, dtype: f16, world: 3, "
      "shape: {m: 64, n: 32, k: 48}}",
      "{name: total_by_copies, pattern: matmul_all_reduce, variant: producer_consumer, dtype: bf16, world: 2, "
      "shape: {m: 64, n: 32, k: 48}}",
      "{name: total_in_lines, pattern: matmul_all_reduce, variant: low_latency, dtype: bf16, world: 2, "
      "shape: {m: dynamic, n: 32, k: 48}}",
      "{name: total_in_two_ways, pattern: matmul_all_reduce, variant: low_latency_two_shot, dtype: f16, world: 3, "
      "shape: {m: 20, n: dynamic, k: 48}}",
      "{name: total_parts, pattern: matmul_all_reduce, variant: bulk_synchronous, dtype: f64, world: 2, "
      "shape: {m: dynamic, n: 20, k: 50}}",
      "{name: products, pattern: matmul_all_gather, variant: workgroup_specialized, dtype: bf16, world: 3, "
      "shape: {m: 33, n: dynamic, k: 50}}",
      "{name: products_in_turn, pattern: matmul_all_gather, variant: fused_sequential, shard: n, dtype: f32, world: 2, "
      "shape: {m: 33, n: 20, k: dynamic}}",
      "{name: products_by_copies, pattern: matmul_all_gather, variant: producer_consumer, dtype: bf16, world: 3, "
      "shape: {m: 63, n: 48, k: dynamic}}",
      "{name: products_parts, pattern: matmul_all_gather, variant: bulk_synchronous, shard: n, dtype: f16, world: 4, "
      "shape: {m: 33, n: 20, k: 50}}",
  };
  return kernels;
}

/// A shape that the pattern takes, each extent `length`.
inline std::string shape_of_pattern(std::string_view pattern, const std::string& length) {
  std::string shape;
  for (const std::string& extent : keys_of(pattern).extents) {
    shape.append(shape.empty() ? "{" : ", ").append(extent).append(": ").append(length);
  }
  return shape + "}";
}

}  // namespace irisgen
