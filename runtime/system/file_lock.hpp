#pragma once

#include <filesystem>

namespace iris {

/// Exclusive among processes and threads, by flock on a file of its own: a holder that dies lets go of it. Blocks until
/// it is held; removes the file at the end.
class FileLock {
 public:
  /// Throws std::system_error if the file cannot be made or locked.
  explicit FileLock(std::filesystem::path file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace iris
