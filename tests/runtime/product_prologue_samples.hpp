#pragma once

#include <cstdint>
#include <string>

#include "tests/runtime/user_kernel_samples.hpp"

/// Descriptions of patterns that multiply, with a prologue.
namespace iris::test {

/// At 0 it is not 0, so that what is not A's shows, and applied twice it gives something else.
inline constexpr const char* bent_function = R"(#include <iris/device/numeric.hpp>

/// Of an activation, before the layer.
template <typename T>
__device__ T bent(T x) {
  return x * x + T(0.5);
}
)";

struct Product {
  std::string pattern;
  std::string variant = "auto";
  int world = 1;
  std::string dtype = "bf16";
  std::string layout = "kn";
  std::string shard = {};
  std::int64_t m = 42;
  std::int64_t n = 21;
  std::int64_t k = 37;
  bool dynamic = false;
  std::string more = {};  ///< lines of the description

  std::string text() const {
    const auto extent = [&](std::int64_t value) { return dynamic ? std::string("dynamic") : std::to_string(value); };
    return "irisgen: 1\nkernels:\n  - name: layer\n    pattern: " + pattern + "\n    variant: " + variant +
           "\n    dtype: " + dtype + "\n    world: " + std::to_string(world) + "\n    shape: {m: " + extent(m) +
           ", n: " + std::to_string(n) + ", k: " + extent(k) + "}\n    layout: {b: " + layout + "}\n" +
           (shard.empty() ? "" : "    shard: " + shard + "\n") + "    prologue: {source: f.hip, function: bent}\n" +
           more;
  }
  Dtype type() const { return dtype == "bf16" ? Dtype::bf16 : Dtype::f32; }
  std::int64_t rows_of_a() const {
    const bool divides = pattern == "all_gather_matmul" || (pattern == "matmul_all_gather" && shard != "n");
    return divides ? m / world : m;
  }
  std::int64_t columns_of_b() const { return shard == "n" ? n / world : n; }
};

class WithPrologue : public UserKernel {
 protected:
  void SetUp() override {
    UserKernel::SetUp();
    write("f.hip", bent_function);
  }
};

}  // namespace iris::test
