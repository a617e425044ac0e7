#include "irisgen/generate.hpp"

#include <gtest/gtest.h>

#include "tests/generator/samples.hpp"

namespace irisgen::generate_test {
namespace {

std::vector<const Target*> named(const std::vector<std::string>& names) {
  std::vector<const Target*> found;
  for (const std::string& name : names) found.push_back(find_target(name));
  return found;
}

std::vector<std::string> names_of(const std::vector<OutputFile>& files) {
  std::vector<std::string> names;
  for (const OutputFile& file : files) names.push_back(file.name);
  return names;
}

TEST(Generate, MakesSourceAndManifestPerBuildAndALauncherPerKernel) {
  const Spec spec = spec_of({"{name: a, pattern: all_reduce, dtype: f32, world: [2, 3], shape: {n: 5}}",
                             "{name: b, pattern: broadcast, dtype: f32, world: 2, shape: {n: 5}}"});
  EXPECT_EQ(
      names_of(generate(spec, named({"gfx942", "host"}))),
      (std::vector<std::string>{"a.w2.gfx942.hip", "a.w2.gfx942.json", "a.w2.host.hip", "a.w2.host.json",
                                "a.w3.gfx942.hip", "a.w3.gfx942.json", "a.w3.host.hip", "a.w3.host.json", "a.hpp",
                                "b.w2.gfx942.hip", "b.w2.gfx942.json", "b.w2.host.hip", "b.w2.host.json", "b.hpp"}));
}

TEST(Generate, IsTheSameTwice) {
  const Spec spec = spec_of(kernels_of_every_template());
  const auto targets = named({"host", "gfx90a", "gfx942", "gfx950", "sm_90a"});
  const auto first = generate(spec, targets, {.self_contained = true});
  const auto second = generate(spec, targets, {.self_contained = true});
  ASSERT_EQ(names_of(first), names_of(second));
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].content, second[i].content) << first[i].name;
}

TEST(Generate, NamesTheSourcesOfPartsByTheirPart) {
  const Spec spec =
      spec_of({"{name: a, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: f32, world: 2, shape: {m: 8, "
               "n: 8, k: 8}}"});
  EXPECT_EQ(names_of(generate(spec, named({"host"}))),
            (std::vector<std::string>{"a.w2.host.all_gather.hip", "a.w2.host.matmul.hip", "a.w2.host.json", "a.hpp"}));
}

TEST(Generate, ReportsTheErrorsOfAllKernelsAtOnceAndEachOnce) {
  const Spec spec = spec_of({"{name: a, pattern: all_reduce, dtype: f32, world: 9, shape: {n: 5}}",
                             "{name: b, pattern: broadcast, dtype: f32, world: [2, 12], shape: {n: 5}}"});
  try {
    generate(spec, named({"gfx942", "gfx950", "host"}));
    FAIL() << "nothing was thrown";
  } catch (const SpecError& error) {
    const auto& diagnostics = error.report().diagnostics();
    ASSERT_EQ(diagnostics.size(), 2u) << error.what();
    EXPECT_EQ(diagnostics[0].where.line, 3);
    EXPECT_EQ(diagnostics[1].where.line, 4);
    EXPECT_TRUE(diagnostics[0].message.starts_with("for gfx942, gfx950: ")) << diagnostics[0].message;
  }
}

TEST(Generate, PutsTheLicenseOnTopOfEveryFileAndTheLaunchersIntoTheNamespace) {
  const Spec spec = spec_of({"{name: a, pattern: broadcast, dtype: f32, world: 2, shape: {n: 5}}"});
  GenerateOptions options;
  options.launcher = {.name_space = "app::kernels", .license = "SPDX-License-Identifier: MIT"};
  for (const OutputFile& file : generate(spec, named({"host"}), options)) {
    const bool is_cpp = !file.name.ends_with(".json");
    EXPECT_EQ(file.content.starts_with("// SPDX-License-Identifier: MIT\n"), is_cpp) << file.name;
    EXPECT_EQ(file.content.find("namespace app::kernels {") != std::string::npos, file.name == "a.hpp") << file.name;
  }
}

TEST(Generate, MakesNothingOfAnEmptySelection) {
  EXPECT_TRUE(generate(spec_of({kernels_of_every_template()[0]}), {}).empty());
}

}  // namespace
}  // namespace irisgen::generate_test
