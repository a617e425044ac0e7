#include "generator/resources.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace irisgen {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Resources, HoldEveryFileOfTheSourceTreeByteForByte) {
  const fs::path root = IRISGEN_SOURCE_DIR;
  std::size_t files = 0;
  for (const auto& [folder, extension] : {std::pair{"device", ".hpp"}, {"templates", ".hip"}, {"schemas", ".json"}}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != extension) continue;
      const std::string path = fs::relative(entry.path(), root).generic_string();
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
  const auto paths = resource_paths("device/");
  EXPECT_TRUE(std::ranges::is_sorted(paths));
  EXPECT_NE(std::ranges::find(paths, "device/abi.hpp"), paths.end());
  EXPECT_TRUE(std::ranges::all_of(paths, [](std::string_view path) { return path.starts_with("device/"); }));
}

TEST(Resources, AreAbsentForAnyOtherPath) {
  EXPECT_FALSE(resource("device/no_such_file.hpp"));
  EXPECT_FALSE(resource("/etc/passwd"));
  EXPECT_FALSE(resource(""));
}

}  // namespace
}  // namespace irisgen
