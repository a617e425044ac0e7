#include "generator/language/resources.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace irisgen::resources_test {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Resources, HoldEveryFileOfTheSourceTreeByteForByte) {
  const fs::path root = IRISGEN_SOURCE_DIR;
  std::size_t files = 0;
  const std::pair<const char*, const char*> places[] = {
      {"device/include/iris", ".hpp"}, {"templates", ".hip"}, {"schemas", ".json"}, {"generator/plan/tuning", ".json"}};
  for (const auto& [folder, extension] : places) {
    const fs::path known_from = extension == std::string(".hpp") ? root / "device/include" : root;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != extension) continue;
      const std::string path = fs::relative(entry.path(), known_from).generic_string();
      const auto text = resource(path);
      ASSERT_TRUE(text.has_value()) << path;
      EXPECT_TRUE(*text == read(entry.path())) << path << " differs from what was embedded";
      ++files;
    }
  }
  EXPECT_GT(files, 0u);
  EXPECT_EQ(resource_paths("").size(), files);
}

TEST(Resources, AreListedSortedBelowAPrefix) {
  const auto paths = resource_paths("iris/device/");
  EXPECT_TRUE(std::ranges::is_sorted(paths));
  EXPECT_NE(std::ranges::find(paths, "iris/device/abi.hpp"), paths.end());
  EXPECT_TRUE(std::ranges::all_of(paths, [](std::string_view path) { return path.starts_with("iris/device/"); }));
}

TEST(Resources, AreAbsentForAnyOtherPath) {
  EXPECT_FALSE(resource("iris/device/no_such_file.hpp"));
  EXPECT_FALSE(resource("/etc/passwd"));
  EXPECT_FALSE(resource(""));
}

}  // namespace
}  // namespace irisgen::resources_test
