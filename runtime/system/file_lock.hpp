#pragma once

#include <chrono>
#include <filesystem>

namespace iris {

/// Exclusive among processes and threads, by flock on a file of its own: a holder that dies lets go of it. Removes the
/// file at the end.
class FileLock {
 public:
  /// Waits until it is held. Throws std::runtime_error if that takes longer than `patience`, and std::system_error if
  /// the file cannot be made or locked.
  FileLock(std::filesystem::path file, std::chrono::milliseconds patience);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Removes what a holder that died has left; leaves alone what is held.
  static void remove_if_free(const std::filesystem::path& file);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace iris
