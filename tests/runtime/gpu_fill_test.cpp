// Tensors with values on this machine's GPUs: every bit is the CPU's. Skipped where there is no GPU.

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "fill_samples.hpp"
#include "iris/fill.hpp"
#include "iris/jit.hpp"
#include "irisgen/target.hpp"

namespace iris {
namespace {

class GpuFill : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceSurvey survey = survey_gpus();
    const irisgen::Target* const target =
        survey.gpus.empty() ? nullptr : irisgen::find_target(survey.gpus.front().target);
    if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
    target_ = std::string(target->name);
  }

  std::string target_;
};

TEST_F(GpuFill, EveryBitIsTheCpus) {
  World world({.size = 1, .target = target_, .heap_bytes = 64 << 20});
  world.run([](Context& context) {
    for (const std::int64_t count : {1, 5, 1003, 3'000'017}) {
      EXPECT_EQ(test::wrong_fillings(context, count, nullptr), "") << count;
    }
    const Stream stream = context.device().create_stream();
    EXPECT_EQ(test::wrong_fillings(context, 1003, stream), "");
    context.device().destroy_stream(stream);
  });
}

/// Made, launched on and read back, as a program does.
TEST_F(GpuFill, TensorsAreSummedOverRanks) {
  World world({.size = 2, .target = target_, .heap_bytes = 64 << 20});
  world.run([](Context& context) {
    constexpr const char* description =
        "irisgen: 1\nkernels:\n  - {name: total, pattern: all_reduce, dtype: i32, world: 2, shape: {n: dynamic}, "
        "config: {blocks: 8}}\n";
    Operation total = jit(context, description, {.capacity = {{"n", 100'000}}});
    const int rank = context.rank();
    const Tensor input = randint(context, {100'000}, -1000, 1000, Dtype::i32, {.seed = 3, .sequence = rank});
    const Tensor other = randint(context, {100'000}, -1000, 1000, Dtype::i32, {.seed = 3, .sequence = 1 - rank});
    const Tensor output = empty_like(context, input);
    total.launch({input, output});
    context.synchronize();
    std::array<std::vector<std::int32_t>, 3> values;
    const std::array tensors = {&input, &other, &output};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values.at(i).resize(100'000);
      context.device().copy(values.at(i).data(), (*tensors.at(i))->data(), 400'000);
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 100'000; ++i) wrong += values[0][i] + values[1][i] != values[2][i] ? 1U : 0U;
    EXPECT_EQ(wrong, 0U);
    context.barrier();
  });
}

}  // namespace
}  // namespace iris
