#include "runtime/system/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace iris {
namespace {

[[noreturn]] void fail(const char* call, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string(call) + " " + file.string());
}

/// False if another one holds it.
bool try_lock(int descriptor, const std::filesystem::path& file) {
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) fail("flock", file);
  }
  return true;
}

/// Whether the path still names the open file; the holder before us removes it.
bool is_current(int descriptor, const std::filesystem::path& file) {
  struct stat opened = {};
  struct stat named = {};
  if (fstat(descriptor, &opened) != 0 || stat(file.c_str(), &named) != 0) return false;
  return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(std::filesystem::path file, std::chrono::milliseconds patience) : file_(std::move(file)) {
  constexpr std::chrono::milliseconds pause(5);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail("open", file_);
    try {
      while (!try_lock(descriptor_, file_)) {
        if (std::chrono::steady_clock::now() > until) {
          throw std::runtime_error(file_.string() + " is held by another process for more than " +
                                   std::to_string(patience.count() / 1000) + " s");
        }
        std::this_thread::sleep_for(pause);
      }
    } catch (...) {
      close(descriptor_);
      throw;
    }
    if (is_current(descriptor_, file_)) return;
    close(descriptor_);
  }
}

FileLock::~FileLock() {
  unlink(file_.c_str());
  close(descriptor_);
}

void FileLock::remove_if_free(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_current(descriptor, file)) unlink(file.c_str());
  close(descriptor);
}

}  // namespace iris
