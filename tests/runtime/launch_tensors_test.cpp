// What a launch on tensors checks of them, and the extents that it reads from their shapes.

#include "runtime/launch/launch_tensors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"

namespace iris::launch_tensors_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;

alignas(16) std::array<std::int32_t, 4096> memory;

TensorView integers(const Shape& shape) {
  return {memory.data(), shape};
}
TensorView integers(const Shape& shape, const Shape& strides) {
  return {memory.data(), shape, strides};
}

Extents extents_on(const Manifest& manifest, std::initializer_list<TensorView> tensors, const Extents& given = {}) {
  return extents_of(manifest, std::span(tensors.begin(), tensors.size()), given);
}
std::string failure(const Manifest& manifest, std::initializer_list<TensorView> tensors, const Extents& given = {}) {
  return error_of([&] { extents_on(manifest, tensors, given); });
}

/// n alone, dynamic; the output is (2, n).
Manifest gathered_vector() {
  return test::gather_of_two().manifest;
}

/// (m/2, k) and (k, n) to (m, n), all dynamic but k = 6; the last one has one value.
Manifest product() {
  Manifest manifest = host_operation("product", 2).manifest;
  manifest.problem.extents = {{"m", {.dynamic = true}}, {"n", {.dynamic = true}}, {"k", {.value = 6}}};
  const auto matrix = [](const char* name, Access access, std::vector<Dimension> shape) {
    return Argument{.name = name, .access = access, .dtype = Dtype::i32, .shape = std::move(shape)};
  };
  manifest.arguments = {matrix("a", Access::read, {{.extent = "m", .divisor = 2}, {"k"}}),
                        matrix("b", Access::read, {{"k"}, {"n"}}), matrix("output", Access::write, {{"m"}, {"n"}}),
                        matrix("scale", Access::read, {})};
  return manifest;
}

TEST(LaunchTensors, ReadsExtentsFromShapes) {
  EXPECT_EQ(extents_on(product(), {integers({4, 6}), integers({6, 10}), integers({8, 10}), integers({})}),
            (Extents{{"m", 8}, {"n", 10}}));
  EXPECT_EQ(extents_on(product(), {integers({0, 6}), integers({6, 3}), integers({0, 3}), integers({1})}),
            (Extents{{"m", 0}, {"n", 3}}));
}

TEST(LaunchTensors, TakesAVectorWhereTheDescriptionHasOne) {
  EXPECT_EQ(extents_on(gathered_vector(), {integers({100}), integers({2, 100})}), (Extents{{"n", 100}}));
  EXPECT_EQ(extents_on(gathered_vector(), {integers({1, 100}), integers({200})}), (Extents{{"n", 100}}));
  expect_part(failure(gathered_vector(), {integers({100}), integers({201})}),
              "'output' is i32 (201); this kernel takes (2, n) there");
  Manifest square = gathered_vector();
  square.arguments[1].shape = {{"n"}, {"n"}};
  expect_part(failure(square, {integers({4}), integers({16})}), "'output' is i32 (16); this kernel takes (n, n) there");
  expect_part(failure(product(), {integers({24}), integers({6, 10}), integers({8, 10}), integers({})}),
              "product: 'a' is i32 (24); this kernel takes (m/2, 6) there");
}

TEST(LaunchTensors, SolvesADimensionForItsExtent) {
  Manifest manifest = gathered_vector();
  manifest.problem.extents = {{"n", {.dynamic = true}}};
  manifest.arguments[0].shape = {{.extent = "n", .factor = 3, .divisor = 2, .offset = 2}};
  manifest.arguments[1].shape = {{"n"}};
  EXPECT_EQ(extents_on(manifest, {integers({14}), integers({8})}), (Extents{{"n", 8}}));
  for (const std::int64_t wrong : {13, 1}) {
    expect_part(failure(manifest, {integers({wrong}), integers({8})}), "this kernel takes (3·n/2 + 2) there");
  }
}

TEST(LaunchTensors, NamesWhatDoesNotFit) {
  const Manifest manifest = product();
  const TensorView a = integers({4, 6});
  const TensorView b = integers({6, 10});
  const TensorView scale = integers({});
  expect_part(failure(manifest, {a, b}), "product: takes 4 tensors, not 2");
  expect_part(failure(manifest, {a, integers({7, 10}), integers({8, 10}), scale}),
              "product: 'b' is i32 (7, 10); this kernel takes (6, n) there");
  expect_part(failure(manifest, {a, b, integers({8, 11}), scale}),
              "'output' is i32 (8, 11); there n is 11, but by 'b' it is 10");
  expect_part(failure(manifest, {a, b, integers({8, 10}), integers({2})}),
              "'scale' is i32 (2); this kernel takes one value there");
  expect_part(failure(manifest, {TensorView(memory.data(), Dtype::f32, {4, 6}), b, integers({8, 10}), scale}),
              "'a' is f32 (4, 6); this kernel takes i32 there");
  const std::int32_t* constant = memory.data();
  expect_part(failure(manifest, {a, b, TensorView(constant, {8, 10}), scale}),
              "'output' is i32 (8, 10); this kernel writes it, and the tensor is read-only");
  EXPECT_EQ(failure(manifest, {TensorView(constant, {4, 6}), b, integers({8, 10}), scale}), "");
}

TEST(LaunchTensors, TakeF32WhereAKernelReadsTf32) {
  Manifest manifest = product();
  manifest.arguments[0].dtype = Dtype::tf32;
  const TensorView b = integers({6, 10});
  EXPECT_EQ(extents_on(manifest, {TensorView(memory.data(), Dtype::f32, {4, 6}), b, integers({8, 10}), integers({})}),
            (Extents{{"m", 8}, {"n", 10}}));
  expect_part(failure(manifest, {integers({4, 6}), b, integers({8, 10}), integers({})}),
              "'a' is i32 (4, 6); this kernel takes f32 there");
}

TEST(LaunchTensors, RefusesGaps) {
  const TensorView b = integers({6, 10});
  expect_part(
      failure(product(), {integers({4, 6}, {8, 1}), b, integers({8, 10}), integers({})}),
      "'a' is i32 (4, 6) with strides (8, 1); kernels take tensors without gaps, which has strides (6, 1) here; "
      "copy it into one");
  expect_part(failure(product(), {integers({4, 6}, {1, 4}), b, integers({8, 10}), integers({})}), "strides (1, 4)");
  EXPECT_EQ(failure(product(), {integers({1, 6}, {99, 1}), b, integers({2, 10}), integers({1}, {7})}), "");
}

TEST(LaunchTensors, ComparesWithTheExtentsThatAreGiven) {
  EXPECT_EQ(failure(gathered_vector(), {integers({100}), integers({200})}, {{"n", 100}}), "");
  expect_part(failure(gathered_vector(), {integers({100}), integers({200})}, {{"n", 99}}),
              "'input' is i32 (100); there n is 100, but by the launch it is 99");
}

TEST(LaunchTensors, LaunchAnOperation) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Operation operation(context, host_operation("add_index", 1), {{"n", 64}});
    auto* input = static_cast<std::int32_t*>(context.allocate(256));
    auto* output = static_cast<std::int32_t*>(context.allocate(256));
    for (std::int32_t i = 0; i < 64; ++i) input[i] = 1000 * i;
    const std::int32_t* constant = input;
    operation.launch({TensorView(constant, {60}), TensorView(output, {60})});
    context.synchronize();
    for (std::int32_t i = 0; i < 60; ++i) EXPECT_EQ(output[i], 1001 * i);
    expect_part(error_of([&] { operation.launch({TensorView(input, {65}), TensorView(output, {65})}); }),
                "n = 65 is over the capacity of 64");
    operation.launch({input, output}, {{"n", 64}});  // as ever
    expect_part(error_of([&] { operation.launch({}, {{"n", 64}}); }), "add_index: takes 2 buffers, not 0");
    context.synchronize();
  });
}

}  // namespace
}  // namespace iris::launch_tensors_test
