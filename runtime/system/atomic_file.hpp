#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace iris {

/// Writes the pieces to a new file in the folder `partial`, flushes it to the disk and renames it, so that `file` (on
/// the same file system) is whole or not there whatever happens. Throws std::system_error.
void write_atomically(const std::filesystem::path& file, const std::filesystem::path& partial,
                      std::initializer_list<std::string_view> pieces);

}  // namespace iris
