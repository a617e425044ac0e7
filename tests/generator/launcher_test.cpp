#include "irisgen/launcher.hpp"

#include <gtest/gtest.h>

#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

std::string launcher_of(const std::string& kernel, const std::vector<std::string>& names) {
  const KernelSpec spec = spec_of({kernel}).kernels.at(0);
  std::vector<Plan> plans;
  for (const int world : spec.worlds) {
    for (const std::string& name : names) plans.push_back(make_plan(spec, world, *find_target(name)));
  }
  return emit_launcher(plans);
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
  expect_contains(text, "explicit Sum(iris::Context& context)");
  expect_contains(text, "void* const buffers[] = {const_cast<float*>(input), output};");
  expect_contains(text, "kernel_.launch(buffers, {}, stream);");
  EXPECT_EQ(text.find("iris/device/"), std::string::npos);
}

TEST(Launcher, TakesDynamicExtentsAndTheirBounds) {
  const std::string text = launcher_of(
      "{name: gather, pattern: all_gather, dtype: i32, world: 2, shape: {m: dynamic, n: dynamic}}", {"host"});
  expect_contains(text, "#include <cstdint>");
  expect_contains(text, "  Gather(iris::Context& context, std::int64_t capacity_m, std::int64_t capacity_n)");
  expect_contains(text, "{.m = capacity_m, .n = capacity_n}");
  expect_contains(text, "const std::int32_t* input, std::int32_t* output, std::int64_t m, std::int64_t n,");
  expect_contains(text, "kernel_.launch(buffers, {.m = m, .n = n}, stream);");
}

TEST(Launcher, NeedsOnlyTheNamesOfHalfPrecisionTypes) {
  const std::string text =
      launcher_of("{name: h, pattern: broadcast, dtype: bf16, world: 2, shape: {n: 10}}", {"host"});
  expect_contains(text, "namespace iris::device {\nstruct bf16;");
  expect_contains(text, "const iris::device::bf16* input");
  EXPECT_EQ(text.find("#include <iris/device/"), std::string::npos);
}

TEST(Launcher, TellsShapesOfEveryWorldAndEveryBuild) {
  const std::string text =
      launcher_of("{name: g, pattern: all_gather, dtype: f32, world: [2, 8], shape: {m: 3, n: 5}}", {"host", "gfx942"});
  expect_contains(text, "`input`: (3, 5), read");
  expect_contains(text, "`output`: (6, 5) in a world of 2, (24, 5) in a world of 8, written");
  expect_contains(text, "2 ranks, m = 3, n = 5, for host");
  expect_contains(text, "8 ranks, m = 3, n = 5, for gfx942");
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

TEST(Embedding, CarriesEveryByteAndDefinesEmbeddedOfEachKernel) {
  std::string code;
  for (int i = 0; i < 1000; ++i) code += static_cast<char>(i * 7 + i / 256);
  const Plan plan = plan_of("{name: gradient_sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 10}}", "host");
  const Plan other = plan_of("{name: cast, pattern: broadcast, dtype: f32, world: 2, shape: {n: 10}}", "host");
  const std::vector<EmbeddedBuild> builds = {
      {make_manifest(plan), std::as_bytes(std::span(code)), "clang 22 \"quoted\""},
      {make_manifest(other), std::as_bytes(std::span(code)).first(3), "clang 22"}};
  const std::string text = emit_embedding(builds);
  expect_contains(text, "#include \"gradient_sum.hpp\"\n#include \"cast.hpp\"\n");
  expect_contains(text, "std::span<const iris::EmbeddedKernel> GradientSum::embedded() { return ");
  expect_contains(text, "std::span<const iris::EmbeddedKernel> Cast::embedded() { return ");
  expect_contains(text, to_json(make_manifest(plan)));

  const std::size_t start = text.find("code_0[] =") + 10;
  EXPECT_EQ(unescape(std::string_view(text).substr(start, text.find(";\n", start) - start)), code);
  EXPECT_EQ(text, emit_embedding(builds));
}

}  // namespace
}  // namespace irisgen
