#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace iris::test {

/// That a committed file, which is read as a diff, has this content. IRISGEN_UPDATE_GOLDENS=1 writes it anew.
inline void expect_reviewed(const std::filesystem::path& file, const std::string& content) {
  if (std::getenv("IRISGEN_UPDATE_GOLDENS") != nullptr) std::ofstream(file) << content;
  std::ifstream stream(file);
  const std::string committed{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(content, committed) << file.filename();
}

/// Of emitted files.
inline const std::filesystem::path reviewed_folder =
    std::filesystem::path(IRISGEN_SOURCE_DIR) / "tests/runtime/goldens";

}  // namespace iris::test
