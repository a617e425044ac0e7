#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "iris/code_object.hpp"

namespace iris {

/// What a file of the cache says of itself without its code being read.
struct CacheHeader {
  std::string name;  ///< of the source that was compiled
  std::string target;
  std::string compiler;
  std::string symbol;
};

/// A cache file: a line that names the format, a line of JSON (header, resources, size and SHA-256 of the code), the
/// code. Writing flushes a file in `partial` to the disk and renames it, so that `file` is whole or not there. Throws
/// std::system_error.
void write_entry(const std::filesystem::path& file, const std::filesystem::path& partial, const CacheHeader& header,
                 const CodeObject& code);

/// Nothing where the file is not there, is cut short, or does not match its checksum.
std::optional<CodeObject> read_entry(const std::filesystem::path& file);

std::optional<CacheHeader> read_header(const std::filesystem::path& file);

}  // namespace iris
