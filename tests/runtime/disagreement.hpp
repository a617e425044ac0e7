#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "host_kernels.hpp"
#include "iris/fill.hpp"
#include "iris/jit.hpp"
#include "iris/operation.hpp"
#include "iris/tensor.hpp"
#include "iris/world.hpp"

namespace iris::test {

/// A collective call, and how it begins where ranks are told that they disagree.
struct NamedCall {
  std::string name;
  std::function<void(Context&)> make;
};

inline std::vector<NamedCall> collective_calls() {
  static const std::shared_ptr<void> pages(std::aligned_alloc(4096, 8192), std::free);
  const auto adopt = [](std::size_t bytes) {
    return [bytes](Context& context) {
      context.as_symmetric(pages.get(), bytes);
      context.release_symmetric(pages.get());
    };
  };
  const auto load = [](const std::string& kernel) {
    return [kernel](Context& context) { Operation(context, host_operation(kernel, context.num_ranks()), {{"n", 64}}); };
  };
  return {{"allocate(64 bytes)", [](Context& context) { context.free(context.allocate(64)); }},
          {"allocate(512 bytes)", [](Context& context) { context.free(context.allocate(512)); }},
          {"barrier()", [](Context& context) { context.barrier(); }},
          {"as_symmetric(4096 bytes)", adopt(4096)},
          {"as_symmetric(8192 bytes)", adopt(8192)},
          {"release_symmetric(memory that was not adopted)",
           [](Context& context) { context.release_symmetric(pages.get()); }},
          {"trim()", [](Context& context) { context.trim(); }},
          {"allocate(24 bytes)", [](Context& context) { empty(context, {6}, Dtype::f32); }},
          {"allocate(40 bytes)", [](Context& context) { rand(context, {5}, Dtype::f64); }},
          // Wrong descriptions, which nobody compiles.
          {"jit(a description with hash ", [](Context& context) { jit(context, "irisgen: 0"); }},
          {"jit(kernel 'none')", [](Context& context) { jit(context, irisgen::KernelSpec{.name = "none"}); }},
          {"jit(/nowhere/spec.yaml)", [](Context& context) { jit_file(context, "/nowhere/spec.yaml"); }},
          {"device_barrier(timeout of 5 ms)", [](Context& context) { device_barrier(context, 5); }},
          {"Operation(sum_of_two, ", load("sum_of_two")},
          {"Operation(count_under_lock, ", load("count_under_lock")}};
}

/// Two ranks make each two of these calls at once: both are told of both, and then make the next together. What is
/// wrong with that; empty if nothing is.
inline std::string disagree_in_every_call(Context& context) {
  const std::vector<NamedCall> calls = collective_calls();
  std::string wrong;
  for (std::size_t first = 0; first < calls.size(); ++first) {
    for (std::size_t second = 0; second < calls.size(); ++second) {
      if (first == second) continue;
      const std::string said = error_of([&] { calls[context.rank() == 0 ? first : second].make(context); });
      const bool names_both = said.find("ranks disagree") != std::string::npos &&
                              said.find("rank 0: " + calls[first].name) != std::string::npos &&
                              said.find("rank 1: " + calls[second].name) != std::string::npos;
      if (!names_both) wrong += calls[first].name + " and " + calls[second].name + ": " + said + "\n";
      const std::string next = error_of([&] { context.barrier(); });
      if (!next.empty()) wrong += "then: " + next + "\n";
    }
  }
  return wrong;
}

}  // namespace iris::test
