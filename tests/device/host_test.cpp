#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device::host_test {
namespace {

struct Call {
  i32 rank = 0;
  const f32* input = nullptr;
  f32* output = nullptr;
  i64 n = 0;
};
Call last_call;

void entry(Context context, const f32* input, f32* output, i64 n) {
  last_call = {context.rank, input, output, n};
}

TEST(CallEntry, PassesEachArgumentByItsAddress) {
  FakeHeaps heaps(3);
  Context context = heaps.context(2);
  const f32 input = 1;
  f32 output = 2;
  const f32* input_argument = &input;
  f32* output_argument = &output;
  i64 n = 85002;
  void* const arguments[] = {&context, &input_argument, &output_argument, &n};
  call_entry(entry, arguments);
  EXPECT_EQ(last_call.rank, 2);
  EXPECT_EQ(last_call.input, &input);
  EXPECT_EQ(last_call.output, &output);
  EXPECT_EQ(last_call.n, 85002);
}

struct One {
  u64 value;
};
struct Other {
  u64 value;
};

TEST(Shared, IsOneObjectForEachType) {
  FakeEngine engine;
  engine.run(0, 0, [] {
    shared<One>().value = 1;
    shared<Other>().value = 2;
    EXPECT_EQ(shared<One>().value, 1u);
    EXPECT_EQ(shared<Other>().value, 2u);
  });
}

}  // namespace
}  // namespace iris::device::host_test
