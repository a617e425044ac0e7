#pragma once

#include <cstdint>
#include <filesystem>

namespace iris {

/// Bytes that this process may still take without swapping: what the system has available, or what its control group
/// (versions 1 and 2) has left if that is less. The largest number where the system does not tell. `root` is that of
/// the file system.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace iris
