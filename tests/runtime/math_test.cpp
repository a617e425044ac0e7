// The elementary functions of device/'s math.hpp in a kernel of a user's own, through every compiler: calls without a
// qualifier mean them, nothing is spilled, and on the CPU their bits are those of this program's build.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "iris/device/math.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

namespace iris::test::math_test {
namespace {

constexpr std::array function_names = {"exp",  "exp2",  "expm1", "log",  "log2", "log1p", "tanh",   "erf",
                                       "sqrt", "rsqrt", "floor", "ceil", "rint", "abs",   "mixture"};
constexpr std::int64_t functions = function_names.size();
constexpr std::int64_t arguments = 4096;

/// output[function · n + i] = function(input[i]).
constexpr const char* kernel = R"(#include <iris/device/math.hpp>
#include <iris/device/partition.hpp>
using namespace iris::device;

template <typename T>
__device__ T mixture(T x) {
  return fma(x, copysign(max(x, T(2)), min(x, T(1))), is_nan(x) || is_infinite(x) ? infinity<T>() : x);
}

template <typename Config>
__device__ void f(const Context&, const typename Config::Element* input, typename Config::Element* output, i64 n) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    const typename Config::Element x = input[i];
    output[i] = exp(x);
    output[n + i] = exp2(x);
    output[2 * n + i] = expm1(x);
    output[3 * n + i] = log(x);
    output[4 * n + i] = log2(x);
    output[5 * n + i] = log1p(x);
    output[6 * n + i] = tanh(x);
    output[7 * n + i] = erf(x);
    output[8 * n + i] = sqrt(x);
    output[9 * n + i] = rsqrt(x);
    output[10 * n + i] = floor(x);
    output[11 * n + i] = ceil(x);
    output[12 * n + i] = rint(x);
    output[13 * n + i] = abs(x);
    output[14 * n + i] = mixture(x);
  }
}
)";

/// The same of what approximate.hpp has, in any type.
constexpr const char* approximating_kernel = R"(#include <iris/device/approximate.hpp>
#include <iris/device/partition.hpp>
using namespace iris::device;

template <typename Config>
__device__ void f(const Context&, const typename Config::Element* input, typename Config::Element* output, i64 n) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    const typename Config::Element x = input[i];
    output[i] = approximate::exp(x);
    output[n + i] = approximate::exp2(x);
    output[2 * n + i] = approximate::tanh(x);
    output[3 * n + i] = approximate::erf(x);
    output[4 * n + i] = approximate::divide(x, 1 + exp(x));
  }
}
)";

struct Route {
  const char* compiler;
  const char* target;
};

/// A description of the kernel above, for one rank.
class UserMath : public UserKernel {
 protected:
  static std::string described(const std::string& dtype) {
    return description("    dtype: " + dtype + "\n    world: 1\n    shape: {n: " + std::to_string(arguments) +
                       "}\n    arguments: {output: {shape: [" + std::to_string(functions) + " * n]}}\n");
  }
};

class MathKernel : public UserMath, public testing::WithParamInterface<Route> {};
INSTANTIATE_TEST_SUITE_P(Compilers, MathKernel,
                         testing::Values(Route{"clang", "host"}, Route{"clang", "gfx90a"}, Route{"clang", "gfx942"},
                                         Route{"clang", "gfx950"}, Route{"hiprtc", "gfx90a"}, Route{"nvrtc", "sm_90a"}),
                         [](const auto& info) { return std::string(info.param.compiler) + "_" + info.param.target; });

TEST_P(MathKernel, CompilesAndSpillsNothing) {
  IRISGEN_REQUIRE_COMPILER(GetParam().compiler, GetParam().target);
  for (const char* source : {kernel, approximating_kernel}) {
    write("k.hip", source);
    for (const char* dtype : {"f32", "f64"}) {
      SCOPED_TRACE(std::string(dtype) + " in\n" + source);
      const irisgen::Plan planned = plan(described(dtype), GetParam().target);
      const CodeObject code =
          samples::find_compiler(GetParam().compiler)->compile(make_requests(planned, emit_sources(planned)).at(0));
      if (planned.target->platform != irisgen::Platform::host) {
        EXPECT_EQ(code.resources.spill_bytes, 0);
      }
    }
  }
}

/// A header that brings math.hpp makes its functions visible, too.
TEST_P(MathKernel, KnowsTheFunctionsBesideRandomNumbers) {
  IRISGEN_REQUIRE_COMPILER(GetParam().compiler, GetParam().target);
  write("k.hip", R"(#include <iris/device/random.hpp>
using namespace iris::device;

template <typename Config>
__device__ void f(const Context&, const typename Config::Element* input, typename Config::Element* output, i64 n) {
  for_each_random(grid_threads<Config>(), {7, 0}, n, UniformNumbers<typename Config::Element>{},
                  [=](i64 i, typename Config::Element number) { output[i] = number < 0.5f ? 0 : exp(input[i]); });
}
)");
  const irisgen::Plan planned = plan(described("f32"), GetParam().target);
  samples::find_compiler(GetParam().compiler)->compile(make_requests(planned, emit_sources(planned)).at(0));
}

template <typename T>
T apply(std::size_t function, T x) {
  const std::array<T (*)(T), functions - 1> table = {
      device::exp, device::exp2, device::expm1, device::log,   device::log2, device::log1p, device::tanh,
      device::erf, device::sqrt, device::rsqrt, device::floor, device::ceil, device::rint,  device::abs};
  if (function < table.size()) return table.at(function)(x);
  return device::fma(x, device::copysign(device::max(x, T(2)), device::min(x, T(1))),
                     device::is_nan(x) || device::is_infinite(x) ? device::infinity<T>() : x);
}

/// Runs the kernel on the CPU and compares every bit, NaN's apart.
template <typename T, typename Bits>
void expect_same_bits(const irisgen::Plan& planned) {
  std::vector<T> input(arguments);
  std::vector<T> output(static_cast<std::size_t>(arguments * functions));
  for (std::size_t i = 0; i < input.size(); ++i) {
    // Half of them anywhere, half of a size at which all functions are finite.
    const auto hash = static_cast<Bits>((i + 1) * 0x9e3779b97f4a7c15u >> (64 - 8 * sizeof(Bits)));
    input[i] = i % 2 == 0 ? std::bit_cast<T>(hash) : T(static_cast<double>(i) / 400 - 5);
  }
  const BuiltOperation built = build_operation(planned, "clang");
  World world({.size = 1, .heap_bytes = 4 << 20});
  world.run([&](Context& context) {
    Operation operation(context, built);
    void* const from = context.allocate(input.size() * sizeof(T));
    void* const to = context.allocate(output.size() * sizeof(T));
    context.device().copy(from, input.data(), input.size() * sizeof(T));
    context.barrier();
    operation.launch(std::array{from, to});
    context.synchronize();
    context.device().copy(output.data(), to, output.size() * sizeof(T));
  });
  for (std::size_t i = 0; i < output.size(); ++i) {
    const T x = input[i % input.size()];
    const T expected = apply(i / input.size(), x);
    if (std::isnan(expected) && std::isnan(output[i])) continue;
    ASSERT_EQ(std::bit_cast<Bits>(output[i]), std::bit_cast<Bits>(expected))
        << function_names.at(i / input.size()) << " of " << std::hexfloat << x;
  }
}

TEST_F(UserMath, HasTheSameBitsHoweverItIsCompiled) {
  write("k.hip", kernel);
  expect_same_bits<float, std::uint32_t>(plan(described("f32")));
  expect_same_bits<double, std::uint64_t>(plan(described("f64")));
}

}  // namespace
}  // namespace iris::test::math_test
