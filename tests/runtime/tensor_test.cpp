// Tensors that own a part of the symmetric heap.

#include "iris/tensor.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "error_words.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "runtime/world/group.hpp"

namespace iris::tensor_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;

TEST(Tensor, LiesAtTheSamePlaceOnEveryRank) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    const Tensor tensor = zeros(context, {5, 7}, Dtype::i32);
    EXPECT_EQ(to_string(tensor.view()), "i32 (5, 7)");
    EXPECT_TRUE(context.is_symmetric(tensor->data(), static_cast<std::size_t>(tensor->bytes())));
    tensor->data<std::int32_t>()[34] = context.rank();
    context.barrier();
    const int next = (context.rank() + 1) % 3;
    EXPECT_EQ(static_cast<std::int32_t*>(context.on_rank(tensor->data(), next))[34], next);
    context.barrier();
  });
}

TEST(Tensor, IsZeroWhereMemoryWasUsedBefore) {
  World world({.size = 1, .heap_bytes = 4096});
  world.run([](Context& context) {
    {
      const Tensor used = empty(context, {1024}, Dtype::f32);
      context.device().fill(used->data(), 0xa5, 4096);
    }
    const Tensor tensor = zeros(context, {1024});
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(tensor->data<float>()[i], 0);
  });
}

TEST(Tensor, TakesShapeAndDtypeOfAnother) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    std::vector<double> elsewhere(12);
    const TensorView view(elsewhere.data(), {3, 4});
    EXPECT_EQ(to_string(zeros_like(context, view).view()), "f64 (3, 4)");
    EXPECT_EQ(to_string(empty_like(context, view).view()), "f64 (3, 4)");
    EXPECT_EQ(empty(context, {}).view().numel(), 1);
    EXPECT_EQ(empty(context, {0, 3}).view().numel(), 0);
  });
}

TEST(Tensor, GivesItsMemoryBackOnce) {
  World world({.size = 2, .heap_bytes = 2048, .heap_limit = 2048});
  world.run([](Context& context) {
    for (int i = 0; i < 100; ++i) {
      Tensor first = empty(context, {256});
      Tensor second = empty(context, {256});
      first = std::move(second);
      Tensor third(std::move(first));
      expect_part(error_of([&] { first.view(); }), "this Tensor was moved from");  // NOLINT(bugprone-use-after-move)
    }
    EXPECT_NE(context.allocate(2048), nullptr);
  });
}

TEST(Tensor, RefusesWhatCannotBeBeforeAnyoneWaits) {
  World world({.size = 2, .heap_bytes = 2048, .heap_limit = 2048});
  world.run([](Context& context) {
    if (context.rank() == 0) {  // alone
      expect_part(error_of([&] { empty(context, {-1}); }), "has a negative length");
      expect_part(error_of([&] { zeros(context, {std::int64_t{1} << 61, 3}); }), "has more than 2^62 bytes");
    }
    expect_part(error_of([&] { empty(context, {513}); }), "allocate(2052 bytes) does not fit on the symmetric heap");
  });
}

TEST(Tensor, TellsRanksThatTheyAskForDifferentOnes) {
  World world({.size = 2, .heap_bytes = 4096});
  expect_part(error_of([&] { world.run([](Context& context) { empty(context, {context.rank() + 1}); }); }),
              "rank 0: allocate(4 bytes); rank 1: allocate(8 bytes)");
}

TEST(Tensor, IsTakenByLaunches) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Operation operation(context, host_operation("add_index", 1), {{"n", 64}});
    const Tensor input = zeros(context, {64}, Dtype::i32);
    const Tensor output = empty(context, {64}, Dtype::i32);
    operation.launch({input, output});
    context.synchronize();
    for (std::int32_t i = 0; i < 64; ++i) EXPECT_EQ(output->data<std::int32_t>()[i], i);
    expect_part(error_of([&] { operation.launch({zeros(context, {64}), output}); }),
                "add_index: 'input' is f32 (64); this kernel takes i32 there");
  });
}

/// Memory is not given to others while a launch may write it.
TEST(Tensor, WaitsForLaunchesWhenItEnds) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Operation operation(context, host_operation("add_index", 1), {{"n", 64}});
    const Tensor input = zeros(context, {64}, Dtype::i32);
    std::int32_t* data = nullptr;
    {
      const Tensor output = zeros(context, {64}, Dtype::i32);
      data = output->data<std::int32_t>();
      operation.launch({input, output});
    }
    EXPECT_EQ(data[63], 63);
  });
}

/// As an operation leaves it that ends after its launch has failed.
void leave_failure(Context& context) {
  context.state().context.deferred = std::make_exception_ptr(std::runtime_error("an earlier launch failed"));
}

TEST(Tensor, WaitsForLaunchesWhenOthersHaveFailed) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    const Tensor input = zeros(context, {64}, Dtype::i32);
    std::int32_t* data = nullptr;
    std::optional<Operation> operation(std::in_place, context, host_operation("add_index", 1), Extents{{"n", 64}});
    leave_failure(context);
    {
      const Tensor output = zeros(context, {64}, Dtype::i32);
      data = output->data<std::int32_t>();
      operation->launch({input, output});
    }
    EXPECT_EQ(data[63], 63);
    const Tensor kept = zeros(context, {64}, Dtype::i32);
    operation->launch({input, kept});
    operation.reset();
    EXPECT_EQ(kept->data<std::int32_t>()[63], 63) << "its operation has ended";
    EXPECT_EQ(error_of([&] { context.synchronize(); }), "an earlier launch failed");
    EXPECT_EQ(error_of([&] { context.synchronize(); }), "");
  });
}

TEST(Rank, WaitsForLaunchesWhenOthersHaveFailed) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const std::int32_t* data = nullptr;
  std::optional<Operation> operation;
  const std::string error = error_of([&] {
    world.run([&](Context& context) {
      operation.emplace(context, host_operation("add_index", 1), Extents{{"n", 64}});
      auto* const memory = static_cast<std::int32_t*>(context.allocate(512));
      data = memory + 64;
      leave_failure(context);
      operation->launch({memory, memory + 64}, {{"n", 64}}, context.device().create_stream());
    });
  });
  EXPECT_EQ(error, "rank 0: an earlier launch failed");
  EXPECT_EQ(data[63], 63);
}

TEST(Tensor, MayOutliveItsWorld) {
  std::optional<Tensor> kept;
  {
    World world({.size = 1, .heap_bytes = 4096});
    world.run([&](Context& context) { kept = zeros(context, {1024}); });
  }
  kept->view().data<float>()[1023] = 1;
  kept.reset();
}

TEST(Tensor, IsSharedAmongProcesses) {
  const auto outcomes = test::run_ranks(2, [](int) {
    World world = World::join({.target = "host", .heap_bytes = 4096, .heap_limit = 4096});
    std::string said = "right";
    world.run([&](Context& context) {
      for (int round = 0; round < 3; ++round) {
        const Tensor tensor = zeros(context, {1024});
        context.barrier();
        const int other = 1 - context.rank();
        static_cast<float*>(context.on_rank(tensor->data(), other))[7] = static_cast<float>(context.rank() + 1);
        context.barrier();
        if (tensor->data<float>()[7] != static_cast<float>(other + 1)) said = "wrong";
      }
    });
    return said;
  });
  test::expect_all_say(outcomes, "right");
}

}  // namespace
}  // namespace iris::tensor_test
