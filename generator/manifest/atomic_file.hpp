#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// A file that appears under its name whole or not at all: written under another name, then renamed. Removed again
/// unless it is published. Every call throws std::system_error that names the file.
class AtomicFile {
 public:
  /// Creates `temporary`, relative to the open directory `folder` (AT_FDCWD: to the working directory), replacing what
  /// an earlier process left under that name, and following no link. `mode` is as open(2) takes it; `shown` is the
  /// file's name in messages.
  AtomicFile(int folder, std::string temporary, int mode, std::string shown);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes) const;
  /// Waits until what was written is on the disk, so that even a crash of the machine leaves no half of it.
  void flush() const;
  /// Closes the file and moves it to `name`, relative to `folder`, on the same file system.
  void publish(int folder, const std::string& name);

 private:
  [[noreturn]] void fail(int error) const;

  int folder_;
  std::string temporary_;
  std::string shown_;
  Descriptor descriptor_;
  bool published_ = false;
};

/// Writes a file that a user has named: whole or not at all where it is a regular one or is not there yet, into it
/// where it is a device or a pipe; a link stays, and what it leads to is written. Throws std::system_error that names
/// it.
void write_whole_file(const std::filesystem::path& path, std::string_view content);

}  // namespace iris
