#pragma once

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

/// One kernel of each pattern and variant, small, of many dtypes; see also goldens/.
inline const std::vector<std::string>& kernels_of_every_template() {
  static const std::vector<std::string> kernels = {
      "{name: one, pattern: all_reduce, variant: one_shot, dtype: f32, op: max, world: 4, shape: {n: 1000}}",
      "{name: two, pattern: all_reduce, variant: two_shot, dtype: bf16, world: 8, shape: {m: 7, n: 1001}}",
      "{name: ring, pattern: all_reduce, variant: ring, dtype: i32, op: prod, world: 3, shape: {n: dynamic}}",
      "{name: gather, pattern: all_gather, dtype: f16, world: 5, shape: {m: 3, n: dynamic}}",
      "{name: scatter, pattern: reduce_scatter, dtype: f64, op: min, world: 2, shape: {m: dynamic, n: 10}}",
      "{name: transpose, pattern: all_to_all, dtype: i32, world: 8, shape: {m: 4, n: 6}}",
      "{name: cast, pattern: broadcast, dtype: bf16, root: 2, world: 3, shape: {n: 77}}",
      "{name: layer, pattern: all_gather_matmul, dtype: f16, world: 4, shape: {m: 64, n: 48, k: 40}}",
      "{name: product, pattern: matmul_reduce_scatter, dtype: f32, world: 2, shape: {m: 32, n: 20, k: 50}}",
  };
  return kernels;
}

}  // namespace irisgen
