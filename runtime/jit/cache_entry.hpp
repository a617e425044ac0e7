#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "iris/code_object.hpp"

namespace iris {

/// What a file of the cache says of itself without its code being read.
struct CacheHeader {
  std::string name;  ///< of the source that was compiled
  std::string target;
  std::string compiler;
  std::string symbol;
};

/// Writes a file of the cache by way of the folder `partial`, on the same file system: it is whole, and on the disk, or
/// not there. Throws std::system_error.
void write_in_cache(const std::filesystem::path& file, const std::filesystem::path& partial,
                    std::initializer_list<std::string_view> contents);

/// A cache file: a line that names the format, a line of JSON (header, resources, size and SHA-256 of the code), the
/// code.
void write_entry(const std::filesystem::path& file, const std::filesystem::path& partial, const CacheHeader& header,
                 const CodeObject& code);

/// Nothing where the file is not there, is cut short, or does not match its checksum.
std::optional<CodeObject> read_entry(const std::filesystem::path& file);

std::optional<CacheHeader> read_header(const std::filesystem::path& file);

}  // namespace iris
