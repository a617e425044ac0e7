// How much memory there is, on file systems made for the test.

#include "runtime/system/host_memory.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace iris::host_memory_test {
namespace {

namespace fs = std::filesystem;

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "irisgen_memory_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  fs::path root_;
};

TEST_F(HostMemory, IsUnlimitedWhereNobodyTells) {
  EXPECT_EQ(available_memory(root_), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(HostMemory, IsWhatTheSystemHasAvailable) {
  write("proc/meminfo", "MemTotal:       24000000 kB\nMemFree:  5 kB\nMemAvailable:   18000001 kB\nBuffers: 7 kB\n");
  EXPECT_EQ(available_memory(root_), 18000001u * std::uint64_t{1024});
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/memory.current", "4096\n");
  EXPECT_EQ(available_memory(root_), 18000001u * std::uint64_t{1024});
}

TEST_F(HostMemory, IsWhatAControlGroupLeaves) {
  write("proc/meminfo", "MemAvailable: 1000 kB\n");
  write("sys/fs/cgroup/memory.max", "900000\n");
  write("sys/fs/cgroup/memory.current", "500000\n");
  write("sys/fs/cgroup/memory.stat", "anon 300000\nfile 200000\ninactive_file 150000\n");
  EXPECT_EQ(available_memory(root_), 900000u - (500000u - 150000u));
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "800000\n");
  write("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 200000\n");
  EXPECT_EQ(available_memory(root_), 700000u - (800000u - 200000u));
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1800000\n");
  EXPECT_EQ(available_memory(root_), 0u);
}

TEST_F(HostMemory, IsSomeOnThisMachine) {
  EXPECT_GT(available_memory(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace iris::host_memory_test
