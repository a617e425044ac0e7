// What the README quotes is what irisgen does today.
#include <gtest/gtest.h>

#include <string>

#include "irisgen/pattern.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::readme_test {
namespace {

/// The text of the first ``` block that starts with this line of info, without the fences.
std::string quoted(const std::string& readme, const std::string& info) {
  const std::string opening = "\n```" + info + "\n";
  const auto start = readme.find(opening);
  if (start == std::string::npos) return {};
  const auto first = start + opening.size();
  return readme.substr(first, readme.find("```\n", first) - first);
}

TEST(Readme, TheKernelIsWhatTheSpecificationBecomes) {
  const std::string readme = read_file(IRISGEN_SOURCE_DIR "/README.md");
  const std::string spec = quoted(readme, "yaml");
  const std::string kernel = quoted(readme, "cpp");
  ASSERT_FALSE(spec.empty());
  ASSERT_FALSE(kernel.empty());

  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), spec);
  const Outcome outcome =
      irisgen({"generate", "spec.yaml", "-o", "out", "--target", "gfx942"}, {.folder = folder.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder.file("out/gradient_sum.w8.gfx942.hip")), kernel);
}

TEST(Readme, TheSpecificationIsTheFirstExamples) {
  const std::string example = read_file(IRISGEN_SOURCE_DIR "/examples/01_gradient_sum/spec.yaml");
  const std::string spec = quoted(read_file(IRISGEN_SOURCE_DIR "/README.md"), "yaml");
  EXPECT_EQ(example.substr(example.find("irisgen: 1\n")), spec);
}

TEST(Readme, ItsTableHasEveryPatternWithItsVariants) {
  const std::string readme = read_file(IRISGEN_SOURCE_DIR "/README.md");
  for (const Pattern* pattern : patterns()) {
    std::string variants;
    for (const Variant& variant : pattern->variants) {
      variants.append(variants.empty() ? "" : ", ").append(variant.name);
    }
    const auto row = readme.find("\n| " + std::string(pattern->name) + " |");
    ASSERT_NE(row, std::string::npos) << pattern->name;
    const std::string line = readme.substr(row, readme.find('\n', row + 1) - row);
    EXPECT_NE(line.find(" | " + variants + " |"), std::string::npos) << pattern->name << ": " << variants;
  }
}

}  // namespace
}  // namespace irisgen::test::readme_test
