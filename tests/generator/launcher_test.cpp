#include "irisgen/launcher.hpp"

#include <gtest/gtest.h>

#include "generator/language/names.hpp"
#include "irisgen/source.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::launcher_test {
namespace {

/// Plans, with what is made of them.
struct Builds {
  std::vector<Plan> plans;
  std::vector<iris::Manifest> manifests;
  std::vector<LauncherBuild> builds;
};

Builds builds_of(const std::string& kernel, const std::vector<std::string>& names) {
  std::vector<const Target*> targets;
  for (const std::string& name : names) targets.push_back(find_target(name));
  Builds made;
  made.plans = plan_all(spec_of({kernel}), targets);
  for (const Plan& plan : made.plans) made.manifests.push_back(make_manifest(plan, emit_sources(plan)));
  for (std::size_t i = 0; i < made.plans.size(); ++i) made.builds.push_back({&made.plans[i], &made.manifests[i]});
  return made;
}

std::string launcher_of(const std::string& kernel, const std::vector<std::string>& names,
                        const LauncherOptions& options = {}) {
  return emit_launcher(builds_of(kernel, names).builds, options);
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "not found: " << part << "\nin:\n" << text;
}

TEST(ClassName, CapitalisesEveryWord) {
  EXPECT_EQ(class_name("gradient_sum"), "GradientSum");
  EXPECT_EQ(class_name("a"), "A");
  EXPECT_EQ(class_name("layer2_QKV"), "Layer2QKV");
}

TEST(ClassName, IsAnIdentifierWhateverTheName) {
  EXPECT_EQ(class_name("_"), "Kernel");
  EXPECT_EQ(class_name("_2d"), "Kernel2d");
  EXPECT_EQ(class_name("__x__y"), "XY");
  EXPECT_EQ(class_name("class"), "Class");
}

TEST(Launcher, TakesTypedPointersInTheArgumentsOrder) {
  const std::string text =
      launcher_of("{name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 10}}", {"host"});
  expect_contains(text, "class Sum {");
  expect_contains(text, "void operator()(const float* input, float* output, iris::Stream stream = nullptr) {");
  expect_contains(text, "explicit Sum(iris::Group& group)");
  expect_contains(text, "void* const buffers[] = {const_cast<float*>(input), output};");
  expect_contains(text, "operation_.launch(buffers, {}, stream);");
  EXPECT_EQ(text.find("iris/device/"), std::string::npos);
}

TEST(Launcher, TakesDynamicExtentsAndTheirBounds) {
  const std::string text = launcher_of(
      "{name: gather, pattern: all_gather, dtype: i32, world: 2, shape: {m: dynamic, n: dynamic}}", {"host"});
  expect_contains(text, "#include <cstdint>");
  expect_contains(text, "  Gather(iris::Group& group, std::int64_t capacity_m, std::int64_t capacity_n)");
  expect_contains(text, "{{\"m\", capacity_m}, {\"n\", capacity_n}}");
  expect_contains(text, "const std::int32_t* input, std::int32_t* output, std::int64_t m, std::int64_t n,");
  expect_contains(text, "operation_.launch(buffers, {{\"m\", m}, {\"n\", n}}, stream);");
}

TEST(Launcher, TakesTheOperationsBuffersAndNotItsKernels) {
  const std::string text = launcher_of(
      "{name: g, pattern: matmul_all_reduce, variant: bulk_synchronous, dtype: f32, world: 2, shape: {m: 4, n: 4, k: "
      "4}}",
      {"host"});
  expect_contains(text,
                  "void operator()(const float* a, const float* b, float* output, iris::Stream stream = nullptr)");
}

TEST(Launcher, TakesTensorsWhoseShapesTellTheExtents) {
  const std::string fixed =
      launcher_of("{name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 10}}", {"host"});
  expect_contains(fixed, "#include <iris/tensor_view.hpp>");
  expect_contains(fixed,
                  "void operator()(const iris::TensorView& input, const iris::TensorView& output, "
                  "iris::Stream stream = nullptr) {");
  expect_contains(fixed, "operation_.launch({input, output}, {}, stream);");
  const std::string dynamic = launcher_of(
      "{name: gather, pattern: all_gather, dtype: i32, world: 2, shape: {m: dynamic, n: dynamic}}", {"host"});
  expect_contains(dynamic, "are checked; the shapes tell the extents.\n");
  expect_contains(dynamic, "operation_.launch({input, output}, {}, stream);");
}

TEST(Launcher, TakesExtentsBesideTensorsThatNoShapeTells) {
  Builds made =
      builds_of("{name: gather, pattern: all_gather, dtype: i32, world: 2, shape: {m: dynamic, n: dynamic}}", {"host"});
  for (iris::Argument& argument : made.plans[0].arguments) argument.shape = {{.extent = "m"}};
  const std::string text = emit_launcher(made.builds);
  expect_contains(text, "const iris::TensorView& output, std::int64_t n,");
  expect_contains(text, "operation_.launch({input, output}, {{\"n\", n}}, stream);");
}

TEST(Launcher, NeedsOnlyTheNamesOfHalfPrecisionTypes) {
  const std::string text =
      launcher_of("{name: h, pattern: broadcast, dtype: bf16, world: 2, shape: {n: 10}}", {"host"});
  expect_contains(text, "namespace iris::device {\nstruct BFloat16;");
  expect_contains(text, "const iris::device::BFloat16* input");
  EXPECT_EQ(text.find("#include <iris/device/"), std::string::npos);
}

TEST(Launcher, StandsInTheNamespaceAskedForUnderTheLicense) {
  const std::string text =
      launcher_of("{name: h, pattern: broadcast, dtype: f32, world: 2, shape: {n: 10}}", {"host"},
                  {.name_space = "app::kernels", .license = "SPDX-License-Identifier: Apache-2.0"});
  EXPECT_TRUE(text.starts_with("// SPDX-License-Identifier: Apache-2.0\n// Generated by irisgen")) << text;
  expect_contains(text, "namespace app::kernels {\ninline namespace builds_");
  EXPECT_EQ(text.find("irisgen_kernels"), std::string::npos);
}

TEST(Launcher, HasAnInlineNamespaceOfItsContent) {
  const auto name = [](const std::string& shape) {
    const std::string text =
        launcher_of("{name: total, pattern: all_reduce, dtype: f32, world: 2, shape: " + shape + "}", {"host"});
    const std::size_t start = text.find("inline namespace ");
    return text.substr(start, text.find(" {", start) - start);
  };
  EXPECT_EQ(name("{n: 10}"), name("{n: 10}"));
  EXPECT_NE(name("{n: 10}"), name("{n: 11}"));
}

TEST(Namespace, IsIdentifiersThatCppLeavesFree) {
  for (const char* name : {"app", "app::kernels", "a_b::C9", "_x"}) EXPECT_TRUE(is_namespace(name)) << name;
  for (const char* name :
       {"", "::app", "app::", "a::::b", "a:b", "9a", "a b", "class", "app::new", "a__b", "std", "é"}) {
    EXPECT_FALSE(is_namespace(name)) << name;
  }
}

TEST(Launcher, TellsShapesOfEveryWorldAndEveryBuild) {
  const std::string text =
      launcher_of("{name: g, pattern: all_gather, dtype: f32, world: [2, 8], shape: {m: 3, n: 5}}", {"host", "gfx942"});
  expect_contains(text, "`input`: (3, 5), read");
  expect_contains(text, "`output`: (6, 5) in a world of 2, (24, 5) in a world of 8, written");
  expect_contains(text, "2 ranks, m = 3, n = 5, for host");
  expect_contains(text, "8 ranks, m = 3, n = 5, for gfx942");
}

TEST(Launcher, TellsWhatMayBeInPlaceInEveryBuild) {
  expect_contains(launcher_of("{name: g, pattern: reduce_scatter, dtype: f32, world: [2, 8], shape: {n: 5}}", {"host"}),
                  "/// In place: the smaller of input and output may be block `rank` of the larger.\n");
  // Small messages go in lines, through a workspace; eight ranks' are no longer small.
  const std::string differs =
      launcher_of("{name: g, pattern: all_to_all, dtype: f32, world: [2, 8], shape: {n: 300000}}", {"sm_90a"});
  expect_contains(differs, "/// In place, in a world of 2 for sm_90a: the output may be the input.\n");
  expect_contains(differs, "/// In place, in a world of 8 for sm_90a: not possible.\n");
}

TEST(Launcher, HasNoLineThatIsTooLong) {
  for (const std::string& kernel : kernels_of_every_template()) {
    const std::string text = launcher_of(kernel, {"host", "sm_90a"});
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
      if (text.substr(start, end - start).find("//") == std::string::npos) {
        EXPECT_LE(end - start, 120u) << text.substr(start, end - start);
      }
    }
  }
}

/// What a C++ compiler reads from consecutive string literals with plain characters and octal escapes.
std::string unescape(std::string_view text) {
  std::string bytes;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      inside = !inside;
    } else if (inside && text[i] == '\\') {
      bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 3)), nullptr, 8));
      i += 3;
    } else if (inside) {
      bytes += text[i];
    }
  }
  return bytes;
}

std::string array(const std::string& text, const std::string& name) {
  const std::size_t start = text.find(" " + name + "[] =") + name.size() + 5;
  return unescape(std::string_view(text).substr(start, text.find(";\n", start) - start));
}

TEST(Embedding, CarriesEveryByteAndDefinesEmbeddedOfEachKernel) {
  std::string code;
  for (int i = 0; i < 1000; ++i) code += static_cast<char>(i * 7 + i / 256);
  const auto bytes = std::as_bytes(std::span(code));
  const Builds sum =
      builds_of("{name: gradient_sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 10}}", {"host"});
  const Builds layer = builds_of(
      "{name: layer, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: f32, "
      "world: 2, shape: {m: 8, n: 8, k: 8}}",
      {"host"});
  const std::vector<EmbeddedBuild> builds = {{sum.manifests[0], {bytes}, "clang 22 \"quoted\""},
                                             {layer.manifests[0], {bytes.first(3), bytes.last(5)}, "clang 22"}};
  const std::string text = emit_embedding(builds, {.name_space = "app"});
  expect_contains(text, "#include \"gradient_sum.hpp\"\n#include \"layer.hpp\"\n");
  expect_contains(text, "namespace app {\n");
  expect_contains(text, "std::span<const iris::EmbeddedOperation> GradientSum::embedded() {\n");
  expect_contains(text, "std::span<const iris::EmbeddedOperation> Layer::embedded() {\n");
  expect_contains(text, to_json(sum.manifests[0]));
  expect_contains(text, to_json(layer.manifests[0]));
  EXPECT_EQ(array(text, "code_0_0"), code);
  EXPECT_EQ(array(text, "code_1_0"), code.substr(0, 3));
  EXPECT_EQ(array(text, "code_1_1"), code.substr(995));
  EXPECT_EQ(text, emit_embedding(builds, {.name_space = "app"}));
}

}  // namespace
}  // namespace irisgen::launcher_test
