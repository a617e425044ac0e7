#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "generator/manifest/hash.hpp"
#include "iris/cache.hpp"

/// A cache in a folder of its own, for its tests.
namespace iris {

namespace fs = std::filesystem;

inline CompileRequest make_request() {
  return {.name = "sample.hip", .source = "source", .symbol = "symbol", .target = irisgen::find_target("host")};
}

inline CodeObject make_code(std::string_view name = "key") {
  CodeObject code;
  code.target = "host";
  code.compiler = "described 1";
  for (const char c : std::string(name) + "'s code\n" + std::string(1, '\0') + " with a zero")
    code.bytes.push_back(static_cast<std::byte>(c));
  code.resources = {7, std::nullopt, 256, 0};
  return code;
}

/// Keys are SHA-256.
inline std::string key_of(const std::string& name) {
  return sha256_hex(name);
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "irisgen-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  CodeObject get(Cache& cache, const std::string& name = "key", int* builds = nullptr) const {
    return cache.get(key_of(name), make_request(), [&] {
      if (builds != nullptr) ++*builds;
      return make_code(name);
    });
  }
  fs::path entry(const std::string& name = "key") const { return folder / "objects" / key_of(name); }

  fs::path folder;
};

}  // namespace iris
