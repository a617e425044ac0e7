#include "runtime/system/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace iris {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The number after `key` in lines of a key, blanks and a number.
std::optional<std::uint64_t> number_after(const fs::path& file, const std::string& key) {
  std::ifstream stream(file);
  std::string word;
  while (stream >> word) {
    std::uint64_t value = 0;
    if (word == key && stream >> value) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (!(stream >> value)) return std::nullopt;  // "max" is no limit
  return value;
}

/// What a control group mounted at its own root, as it is in a container, leaves. Cached pages of files are given back
/// when memory runs short.
std::uint64_t left_in_group(const fs::path& folder, const char* limit_file, const char* use_file, const char* cached) {
  const auto limit = number_in(folder / limit_file);
  const auto use = number_in(folder / use_file);
  if (!limit || !use) return unlimited;
  const std::uint64_t reclaimable = number_after(folder / "memory.stat", cached).value_or(0);
  const std::uint64_t taken = *use - std::min(*use, reclaimable);
  return *limit - std::min(*limit, taken);
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  constexpr std::uint64_t kib = 1024;
  const auto available = number_after(root / "proc/meminfo", "MemAvailable:");
  return std::min({available ? *available * kib : unlimited,
                   left_in_group(root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
                   left_in_group(root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                 "total_inactive_file")});
}

}  // namespace iris
