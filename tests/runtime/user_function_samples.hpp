#pragma once

#include <string>

#include "tests/runtime/user_kernel_samples.hpp"

/// Descriptions of patterns with functions of the user's own.
namespace iris::test {

inline constexpr const char* functions = R"(#include <iris/device/numeric.hpp>

using namespace iris::device;

#define HALF 0.5f

template <typename T>
__device__ T absolute(T x) {
  return x < 0 ? -x : x;
}

template <typename T>
__device__ T softsign(T x) {
  return x / (1 + absolute(x));
}

/// \param bias added first
template <typename T>
__device__ T layer(T x, T bias, T scale, T residual, T gain) {
  return gain * softsign(scale * x + bias) + residual;
}

template <typename T>
__device__ T absmax(T a, T b) {
  const T x = absolute(a);
  const T y = absolute(b);
  return x > y ? x : y;
}

/// log(exp(a) + exp(b)) has no cheaper cousin that needs the order of ranks.
__device__ f32 first_and_half(f32 a, f32 b) { return a + HALF * b; }

__device__ float square(float x) { return x * x; }

__device__ i32 clamp(i32 x) { return x > 1000 ? 1000 : x < -1000 ? -1000 : x; }
)";

class UserFunctions : public UserKernel {
 protected:
  void SetUp() override {
    UserKernel::SetUp();
    write("f.hip", functions);
  }

  static std::string description(const std::string& pattern, const std::string& shape, const std::string& lines,
                                 const std::string& dtype = "bf16", int world = 3) {
    return "irisgen: 1\nkernels:\n  - name: k\n    pattern: " + pattern + "\n    dtype: " + dtype +
           "\n    world: " + std::to_string(world) + "\n    shape: " + shape + "\n" + lines;
  }
};

}  // namespace iris::test
