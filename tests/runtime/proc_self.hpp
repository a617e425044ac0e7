#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

/// What /proc/self says of this process.
namespace iris::test {

inline std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}
inline std::size_t open_files() {
  return entries_of("/proc/self/fd");
}
inline std::size_t threads() {
  return entries_of("/proc/self/task");
}

inline std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

/// Of this process's addresses from here on, those that can be written; from /proc/self/maps.
inline std::size_t writable_bytes(const char* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  std::ifstream maps("/proc/self/maps");
  std::size_t writable = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    char dash = 0;
    std::string permissions;
    text >> std::hex >> low >> dash >> high >> permissions;
    low = std::max(low, from);
    high = std::min(high, from + bytes);
    if (low < high && permissions.starts_with("rw")) writable += high - low;
  }
  return writable;
}

}  // namespace iris::test
