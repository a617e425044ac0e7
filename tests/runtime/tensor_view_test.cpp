// Views of tensors: what their construction checks, and what is made of them.

#include "iris/tensor_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "error_words.hpp"

namespace iris::tensor_view_test {
namespace {

using test::error_of;
using test::expect_part;

std::array<float, 4096> memory;

TEST(TensorView, KnowsItsElements) {
  const TensorView view(memory.data(), {2, 3, 4});
  EXPECT_EQ(view.dtype(), Dtype::f32);
  EXPECT_EQ(view.strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(view.numel(), 24);
  EXPECT_EQ(view.bytes(), 96);
  EXPECT_EQ(view.data(), memory.data());
  EXPECT_EQ(to_string(view), "f32 (2, 3, 4)");
  EXPECT_FALSE(view.is_read_only());
  EXPECT_TRUE(view.is_contiguous());
  const TensorView one(memory.data(), {});
  EXPECT_EQ(one.numel(), 1);
  EXPECT_EQ(to_string(one), "f32 ()");
}

TEST(TensorView, KnowsTheDtypeOfATypeAndWhetherItIsConst) {
  EXPECT_EQ(TensorView(static_cast<device::BFloat16*>(nullptr), {0}).dtype(), Dtype::bf16);
  EXPECT_EQ(TensorView(static_cast<device::Float8E4M3*>(nullptr), {0}).dtype(), Dtype::e4m3);
  const float* constant = memory.data();
  EXPECT_TRUE(TensorView(constant, {4}).is_read_only());
  EXPECT_TRUE(TensorView(static_cast<const void*>(constant), Dtype::i32, {4}).is_read_only());
}

TEST(TensorView, IsOfTheTypeThatLiesInMemory) {
  const TensorView view(memory.data(), Dtype::tf32, {2, 3});
  EXPECT_EQ(view.dtype(), Dtype::f32);
  EXPECT_EQ(view.bytes(), 24);
  EXPECT_EQ(view.data<float>(), memory.data());
  EXPECT_EQ(to_string(view), "f32 (2, 3)");
}

TEST(TensorView, GivesOutPointersOfItsTypeAlone) {
  const TensorView view(memory.data(), {4});
  EXPECT_EQ(view.data<float>(), memory.data());
  EXPECT_EQ(view.data<const float>(), memory.data());
  expect_part(error_of([&] { view.data<std::int32_t>(); }), "a tensor of f32 (4) is asked for elements of i32");
  const float* constant = memory.data();
  EXPECT_EQ(TensorView(constant, {4}).data<const float>(), constant);
  expect_part(error_of([&] { TensorView(constant, {4}).data<float>(); }), "is read-only");
}

TEST(TensorView, KnowsGaps) {
  EXPECT_FALSE(TensorView(memory.data(), {4, 8}, {16, 1}).is_contiguous());
  EXPECT_FALSE(TensorView(memory.data(), {4, 8}, {1, 4}).is_contiguous());
  EXPECT_TRUE(TensorView(memory.data(), {1, 8, 1}, {77, 1, 99}).is_contiguous());
  EXPECT_TRUE(TensorView(memory.data(), {0, 8}, {77, 5}).is_contiguous());
  EXPECT_EQ(to_string(TensorView(memory.data(), {4, 8}, {16, 1})), "f32 (4, 8) with strides (16, 1)");
}

TEST(TensorView, RefusesWhatCannotBe) {
  char* const byte = reinterpret_cast<char*>(memory.data());
  const auto words = [](void* data, const Shape& shape) {
    return error_of([&] { const TensorView view(data, Dtype::f32, shape); });
  };
  expect_part(words(byte, {4, -1}), "a tensor of f32 (4, -1) has a negative length");
  expect_part(words(byte, {std::int64_t{1} << 40, std::int64_t{1} << 40}), "has more than 2^62 bytes");
  expect_part(words(byte, {std::int64_t{1} << 60, 2}), "has more than 2^62 bytes");
  EXPECT_EQ(words(byte, {0, std::int64_t{1} << 62, std::int64_t{1} << 62}), "");
  expect_part(words(nullptr, {4}), "the pointer is null");
  EXPECT_EQ(words(nullptr, {4, 0}), "");
  expect_part(words(byte + 2, {4}), "does not begin at a multiple of 4 bytes");
  expect_part(error_of([&] { const TensorView view(memory.data(), {4, 8}, {1}); }), "takes one stride for each");
  expect_part(error_of([] { const Shape shape(std::vector<std::int64_t>(9)); }),
              "a tensor has 8 dimensions at most, not 9");
}

TEST(TensorView, RefusesStridesThatReachTooFar) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const auto words = [](const Shape& shape, const Shape& strides) {
    return error_of([&] { const TensorView view(memory.data(), shape, strides); });
  };
  EXPECT_EQ(words({2}, {far}), "");
  EXPECT_EQ(words({2}, {-far}), "");
  expect_part(words({2}, {far + 1}),
              "a tensor of f32 (2) has elements more than 2^62 bytes apart, by its strides (1152");
  expect_part(words({2, 2}, {far, 1}), "more than 2^62 bytes apart");
  expect_part(words({2, 2}, {far, -1}), "more than 2^62 bytes apart");
  expect_part(words({3, 2}, {std::numeric_limits<std::int64_t>::max(), 1}), "more than 2^62 bytes apart");
  expect_part(words({2}, {std::numeric_limits<std::int64_t>::min()}), "more than 2^62 bytes apart");
  EXPECT_EQ(words({1, 4}, {std::numeric_limits<std::int64_t>::min(), 1}), "");
  EXPECT_EQ(words({0, 4}, {std::numeric_limits<std::int64_t>::max(), 1}), "");
  EXPECT_EQ(TensorView(memory.data(), {1, 4}, {far * 4, 1}).slice(1, 1).numel(), 0);
}

TEST(TensorView, CountsContiguousStridesAsFarAsTheyGo) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({0, far, 4}), (Shape{0, 0, 0}));
  EXPECT_EQ(contiguous_strides({far, far, 1}), (Shape{far, 1, 1}));
  expect_part(error_of([&] { contiguous_strides({1, far, 4}); }), "more than can be counted");
}

TEST(TensorView, TakesOtherDimensions) {
  const TensorView view(memory.data(), {6, 4});
  EXPECT_EQ(view.reshape({2, 3, 4}).strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(view.reshape({-1}).shape(), Shape{24});
  EXPECT_EQ(view.reshape({8, -1}).shape(), (Shape{8, 3}));
  expect_part(error_of([&] { view.reshape({5, 5}); }),
              "a tensor of f32 (6, 4) cannot be reshaped to (5, 5): that has 25 elements");
  for (const Shape& shape : {Shape{7, -1}, Shape{-1, -1}, Shape{0, -1}}) {
    expect_part(error_of([&] { view.reshape(shape); }), "there is no one length for -1");
  }
  expect_part(error_of([&] { view.reshape({-2, -12}); }), "negative");
  expect_part(error_of([] { TensorView(memory.data(), {6, 4}, {8, 1}).reshape({24}); }),
              "do not lie one after another");
}

TEST(TensorView, IsCutAlongItsFirstDimension) {
  const TensorView view(memory.data(), {6, 4}, {8, 1});
  const TensorView cut = view.slice(2, 5);
  EXPECT_EQ(cut.data(), memory.data() + 16);
  EXPECT_EQ(cut.shape(), (Shape{3, 4}));
  EXPECT_EQ(cut.strides(), (Shape{8, 1}));
  EXPECT_EQ(view.slice(6, 6).numel(), 0);
  for (const auto& [begin, end] : {std::pair{-1, 2}, std::pair{3, 2}, std::pair{0, 7}}) {
    expect_part(error_of([&, first = begin, last = end] { view.slice(first, last); }), "along its first dimension");
  }
  expect_part(error_of([] { TensorView(memory.data(), {}).slice(0, 1); }), "along its first dimension");
}

}  // namespace
}  // namespace iris::tensor_view_test
