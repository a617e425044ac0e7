#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "generator/manifest/descriptor.hpp"

namespace irisgen {

/// A directory held open, whose files are reached by plain names only: whatever a name or a link says, nothing outside
/// is read or written. Locked against other processes while it lives. Every call throws std::runtime_error with a
/// sentence that names the file and the system's reason.
class Folder {
 public:
  /// Waits for whoever else holds the folder.
  explicit Folder(const std::filesystem::path& path);

  /// nullopt if there is none. Throws for a link and for anything else that is no regular file.
  std::optional<std::string> read(const std::string& name) const;

  /// Appears under its name whole or not at all.
  void write(const std::string& name, std::string_view content) const;

  void remove(const std::string& name) const;

  /// For messages.
  std::string path_of(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  iris::Descriptor descriptor_;
};

/// Makes the folder, and those above it, if need be. Throws std::runtime_error naming it.
void make_folder(const std::filesystem::path& path);

/// Whether this names a file of a folder and nothing else: no separators, not hidden, not empty, no control characters.
bool is_plain_name(std::string_view name);

}  // namespace irisgen
