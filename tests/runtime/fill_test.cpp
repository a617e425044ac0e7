// Tensors with values, on the CPU: every element of every dtype, and what is refused.

#include "iris/fill.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "compiler_samples.hpp"
#include "error_words.hpp"
#include "fill_samples.hpp"
#include "generator/emit/fill.hpp"
#include "processes.hpp"
#include "runtime/world/group.hpp"

namespace iris::fill_test {
namespace {

using test::error_of;
using test::expect_part;

/// What a tensor on the CPU holds.
std::vector<double> values_of(const TensorView& tensor) {
  return to_values(std::span(static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())),
                   tensor.dtype());
}

struct Route {
  const char* compiler;
  const char* target;
};

class FillKernels : public testing::TestWithParam<Route> {};
INSTANTIATE_TEST_SUITE_P(Compilers, FillKernels,
                         testing::Values(Route{"clang", "host"}, Route{"clang", "gfx90a"}, Route{"clang", "gfx942"},
                                         Route{"clang", "gfx950"}, Route{"hiprtc", "gfx90a"}, Route{"nvrtc", "sm_90a"}),
                         [](const auto& info) { return std::string(info.param.compiler) + "_" + info.param.target; });

TEST_P(FillKernels, CompileAndSpillNothing) {
  using irisgen::FillKind;
  IRISGEN_REQUIRE_COMPILER(GetParam().compiler, GetParam().target);
  const irisgen::Target& target = *irisgen::find_target(GetParam().target);
  for (const FillKind kind : {FillKind::constant, FillKind::arange, FillKind::linspace, FillKind::uniform,
                              FillKind::normal, FillKind::integers}) {
    for (const Dtype dtype : {Dtype::f64, Dtype::bf16, Dtype::e4m3}) {
      const irisgen::FillSource source = irisgen::emit_fill(kind, dtype, target);
      const CodeObject code =
          samples::find_compiler(GetParam().compiler)
              ->compile({.name = source.name, .source = source.text, .symbol = source.symbol, .target = &target});
      if (target.platform != irisgen::Platform::host) {
        EXPECT_EQ(code.resources.spill_bytes, 0) << source.symbol;
      }
    }
  }
}

class Fill : public testing::Test {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER("clang", "host"); }

  /// On one rank.
  static void on_host(const std::function<void(Context&)>& body) {
    World world({.size = 1, .heap_bytes = 1 << 20});
    world.run(body);
  }
};

TEST_F(Fill, MakesEveryElementOfEveryDtype) {
  on_host([](Context& context) {
    for (const std::int64_t count : {1, 2, 3, 1003}) EXPECT_EQ(test::wrong_fillings(context, count, nullptr), "");
  });
}

TEST_F(Fill, IsOrderedInItsStream) {
  on_host([](Context& context) {
    const Stream stream = context.device().create_stream();
    EXPECT_EQ(test::wrong_fillings(context, 100, stream), "");
    const Tensor tensor = empty(context, {100});
    fill(context, tensor, 1, stream);
    fill_arange(context, tensor, 0, 1, stream);
    context.synchronize(stream);
    EXPECT_EQ(values_of(tensor)[99], 99);
    context.device().destroy_stream(stream);
  });
}

/// Memory is not given to others while a fill in any stream may write it.
TEST_F(Fill, IsWaitedForWhenItsTensorEnds) {
  on_host([](Context& context) {
    const Stream stream = context.device().create_stream();
    const void* ended = nullptr;
    {
      const Tensor tensor = empty(context, {64});
      ended = tensor->data();
      fill(context, tensor, 7, stream);
    }
    const Tensor next = zeros(context, {64});
    EXPECT_EQ(next->data(), ended);
    context.synchronize(stream);
    EXPECT_EQ(values_of(next), std::vector<double>(64));
    context.device().destroy_stream(stream);
  });
}

TEST_F(Fill, IsWaitedForWhenTheRankEnds) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const float* data = nullptr;
  world.run([&](Context& context) {
    auto* const memory = static_cast<float*>(context.allocate(256));
    data = memory;
    fill(context, TensorView(memory, {64}), 7, context.device().create_stream());
  });
  EXPECT_EQ(std::vector(data, data + 64), std::vector<float>(64, 7));
}

TEST_F(Fill, GivesRanksTheSameOrDifferentNumbers) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  std::array<std::vector<double>, 3> alike;
  std::array<std::vector<double>, 3> different;
  world.run([&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    alike.at(rank) = values_of(rand(context, {10, 10}, Dtype::f64, {.seed = 5}));
    different.at(rank) = values_of(rand(context, {100}, Dtype::f64, {.seed = 5, .sequence = context.rank()}));
  });
  EXPECT_EQ(alike[0], alike[1]);
  EXPECT_EQ(alike[0], alike[2]);
  EXPECT_EQ(different[0], alike[0]);  // whatever the shape
  EXPECT_NE(different[1], different[0]);
  EXPECT_NE(different[2], different[1]);
}

TEST_F(Fill, WorksInProcessesAndGroups) {
  const auto outcomes = test::run_ranks(2, [](int) {
    World world = World::join({.target = "host", .heap_bytes = 1 << 20});
    std::string wrong;
    world.run([&](Context& context) {
      wrong = test::wrong_fillings(context, 50, nullptr);
      Group turned = context.group({1, 0});
      const Tensor tensor = full(turned, {4, 4}, turned.rank());
      context.barrier();
      const auto* other = static_cast<const float*>(turned.on_rank(tensor->data(), 1 - turned.rank()));
      if (other[15] != static_cast<float>(1 - turned.rank())) wrong += "the group's is wrong";
      context.barrier();
    });
    return wrong.empty() ? "right" : wrong;
  });
  test::expect_all_say(outcomes, "right");
}

/// A rank whose own step fails does not leave the others with a tensor that it has not.
TEST_F(Fill, FailsOnAllRanksAlike) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    if (context.rank() == 1) {
      context.state().context.deferred = std::make_exception_ptr(std::runtime_error("an earlier launch failed"));
    }
    EXPECT_EQ(error_of([&] { full(context, {1024}, 3); }), "full() cannot be done on rank 1: an earlier launch failed");
    EXPECT_EQ(values_of(full(context, {1024}, 3)), std::vector<double>(1024, 3));
    EXPECT_EQ(zeros(context, {1024})->numel(), 1024);
  });
}

/// Lengths as numpy.arange has them.
TEST_F(Fill, CountsAnArangeAsOthersDo) {
  on_host([](Context& context) {
    EXPECT_EQ(values_of(arange(context, 0, 5)), (std::vector<double>{0, 1, 2, 3, 4}));
    EXPECT_EQ(values_of(arange(context, 1, 2, 0.25, Dtype::f64)), (std::vector<double>{1, 1.25, 1.5, 1.75}));
    EXPECT_EQ(values_of(arange(context, 0, 10, 3, Dtype::i32)), (std::vector<double>{0, 3, 6, 9}));
    EXPECT_EQ(values_of(arange(context, 5, 0, -2, Dtype::i32)), (std::vector<double>{5, 3, 1}));
    EXPECT_EQ(arange(context, 0, 1, 0.1)->numel(), 10);
    EXPECT_EQ(arange(context, 1, 1.3, 0.1)->numel(), 4);  // 0.3 / 0.1 is more than 3 then
    constexpr double largest = std::numeric_limits<double>::max();
    EXPECT_EQ(values_of(arange(context, -largest, largest, largest, Dtype::f64)), (std::vector<double>{-largest, 0}));
    EXPECT_EQ(arange(context, largest, -largest, largest, Dtype::f64)->numel(), 0);
    EXPECT_EQ(arange(context, 5, 0)->numel(), 0);
    EXPECT_EQ(arange(context, 0, 0)->numel(), 0);
    EXPECT_EQ(values_of(arange(context, -2147483648.0, -2147483646.0, 1, Dtype::i32)),
              (std::vector<double>{-2147483648.0, -2147483647.0}));
    expect_part(error_of([&] { arange(context, 0, 1, 0); }), "arange: the step is 0");
    expect_part(error_of([&] { arange(context, 0, NAN); }), "arange takes finite numbers, not nan");
    expect_part(error_of([&] { arange(context, 0, 1e300); }), "more than 2^62 numbers");
    expect_part(error_of([&] { arange(context, -largest, largest, 0.1); }), "more than 2^62 numbers");
    expect_part(error_of([&] { arange(context, 0, 5, 0.5, Dtype::i32); }),
                "arange: 0.5 is not a value of i32, which has integers alone");
    expect_part(error_of([&] { arange(context, 2147483640.0, 2147483650.0, 1, Dtype::i32); }),
                "arange: 2147483649 is not a value of i32, whose largest is 2147483647");
  });
}

TEST_F(Fill, MeetsBothEndsOfALinspace) {
  on_host([](Context& context) {
    for (const std::int64_t count : {2, 3, 10, 1000}) {
      const std::vector<double> values = values_of(linspace(context, 0.1, -0.7, count, Dtype::f64));
      ASSERT_EQ(std::ssize(values), count);
      EXPECT_EQ(values.front(), 0.1);
      EXPECT_EQ(values.back(), -0.7);
      for (std::size_t i = 1; i < values.size(); ++i) EXPECT_LT(values[i], values[i - 1]);
    }
    EXPECT_EQ(values_of(linspace(context, 0, 1, 5)), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
    EXPECT_EQ(values_of(linspace(context, 3, 4, 1)), (std::vector<double>{3}));
    EXPECT_EQ(linspace(context, 3, 4, 0)->numel(), 0);
    constexpr double largest = std::numeric_limits<double>::max();
    EXPECT_EQ(values_of(linspace(context, -largest, largest, 3, Dtype::f64)),
              (std::vector<double>{-largest, 0, largest}));
    EXPECT_EQ(values_of(linspace(context, -largest, largest, 2, Dtype::f64)), (std::vector<double>{-largest, largest}));
    expect_part(error_of([&] { linspace(context, 0, 1, 5, Dtype::i32); }),
                "linspace makes floats, not i32; take arange");
    expect_part(error_of([&] { linspace(context, 0, 1, -1); }), "negative length");
    expect_part(error_of([&] { linspace(context, 0, 1e5, 3, Dtype::f16); }),
                "linspace: 100000 is not a value of f16, whose largest is 65504");
  });
}

TEST_F(Fill, ChecksValuesAgainstTheDtype) {
  on_host([](Context& context) {
    EXPECT_EQ(values_of(ones(context, {3}, Dtype::e4m3)), (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(values_of(full(context, {1}, 0.1, Dtype::bf16)).front(), round_to(0.1, Dtype::bf16));
    EXPECT_EQ(values_of(full(context, {1}, -std::numeric_limits<double>::infinity(), Dtype::f16)).front(),
              -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(values_of(full(context, {1}, NAN, Dtype::e4m3)).front()));
    const auto words = [&](double value, Dtype dtype) { return error_of([&] { full(context, {1}, value, dtype); }); };
    expect_part(words(1e6, Dtype::f16), "full: 1e+06 is not a value of f16, whose largest is 65504");
    expect_part(words(449, Dtype::e4m3), "whose largest is 448");
    expect_part(words(1e39, Dtype::bf16), "whose largest is 3.38953");
    expect_part(words(INFINITY, Dtype::e4m3), "inf is not a value of e4m3, which has no infinity");
    expect_part(words(0.5, Dtype::i32), "which has integers alone");
    expect_part(words(NAN, Dtype::i32), "which has no NaN");
    expect_part(words(2147483648.0, Dtype::i32), "whose largest is 2147483647");
    EXPECT_EQ(words(-2147483648.0, Dtype::i32), "");
  });
}

TEST_F(Fill, ChecksTheBoundsOfRandomIntegers) {
  on_host([](Context& context) {
    const std::vector<double> dice = values_of(randint(context, {1000}, 1, 7));
    EXPECT_EQ(std::set(dice.begin(), dice.end()), (std::set<double>{1, 2, 3, 4, 5, 6}));
    const std::vector<double> all =
        values_of(randint(context, {1000}, std::numeric_limits<std::int32_t>::min(), std::int64_t{1} << 31));
    EXPECT_LT(*std::ranges::min_element(all), -2.1e9);
    EXPECT_GT(*std::ranges::max_element(all), 2.1e9);
    EXPECT_EQ(values_of(randint(context, {2}, 256, 257, Dtype::bf16)), (std::vector<double>{256, 256}));
    const auto words = [&](std::int64_t low, std::int64_t high, Dtype dtype) {
      return error_of([&] { randint(context, {1}, low, high, dtype); });
    };
    expect_part(words(3, 3, Dtype::i32), "randint: [3, 3) has no integers");
    expect_part(words(0, (std::int64_t{1} << 31) + 1, Dtype::i32),
                "has integers that i32 has not, all of whose are from -2147483648 to 2147483647");
    expect_part(words(0, 258, Dtype::bf16), "all of whose are from -256 to 256");
    expect_part(words(0, (std::int64_t{1} << 32) + 1, Dtype::f64), "has more than 2^32 integers");
  });
}

TEST_F(Fill, RefusesWhatItCannotFill) {
  on_host([](Context& context) {
    const Tensor tensor = zeros(context, {4, 8});
    const TensorView gaps(tensor->data(), Dtype::f32, {4, 4}, {8, 1});
    expect_part(error_of([&] { fill_rand(context, gaps); }),
                "fill_rand is given a tensor of f32 (4, 4) with strides (8, 1); it fills tensors without gaps");
    const TensorView constant(static_cast<const void*>(tensor->data()), Dtype::f32, {4, 8});
    expect_part(error_of([&] { fill(context, constant, 1); }),
                "fill is given a tensor of f32 (4, 8) that is read-only");
    expect_part(error_of([&] { rand(context, {4}, Dtype::i32); }), "rand makes floats, not i32; take randint");
    expect_part(error_of([&] { randn(context, {4}, Dtype::i32); }), "randn makes floats, not i32; take randint");
    EXPECT_EQ(rand(context, {0, 4})->numel(), 0);
  });
}

/// A tensor's memory is the heap's again when it ends, in whichever order tensors are moved.
TEST_F(Fill, LeavesNothingOnTheHeap) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    for (int i = 0; i < 20; ++i) {
      Tensor first = rand(context, {256});
      Tensor second = std::move(first);
      second = zeros(context, {128});
      EXPECT_EQ(values_of(second), std::vector<double>(128));
    }
    EXPECT_EQ(empty(context, {1024})->numel(), 1024);
  });
}

}  // namespace
}  // namespace iris::fill_test
