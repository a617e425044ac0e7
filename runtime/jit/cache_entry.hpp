#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "iris/code_object.hpp"

namespace iris {

/// What a file of the cache says of itself.
struct CacheHeader {
  std::string key;   ///< under which it was kept: a file that was moved to another one's name is not that one
  std::string name;  ///< of the source that was compiled
  std::string target;
  std::string compiler;
  std::string symbol;
};

/// Whether write_in_cache() gives such names to what is not whole yet.
bool is_partial_name(std::string_view name);

/// Writes a file of the cache by way of the folder `partial`, on the same file system: it is whole, and on the disk, or
/// not there. Throws std::system_error.
void write_in_cache(const std::filesystem::path& file, const std::filesystem::path& partial,
                    std::initializer_list<std::string_view> contents);

/// A cache file: a line that names the format and the SHA-256 of what follows, a line of JSON (header, resources), the
/// code.
void write_entry(const std::filesystem::path& file, const std::filesystem::path& partial, const CacheHeader& header,
                 const CodeObject& code);

struct StoredCode {
  CacheHeader header;
  CodeObject code;
};

/// Nothing where the file is not there, is cut short, or does not match its checksum. Throws as read_private_file().
std::optional<StoredCode> read_entry(const std::filesystem::path& file);

/// What the file says of itself, whatever the code behind it is; nothing where it is not there or says nothing. Throws
/// as read_private_file().
std::optional<CacheHeader> read_header(const std::filesystem::path& file);

}  // namespace iris
