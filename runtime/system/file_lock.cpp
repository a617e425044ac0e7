#include "runtime/system/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace iris {
namespace {

[[noreturn]] void fail(const char* call, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string(call) + " " + file.string());
}

void lock_exclusively(int descriptor, const std::filesystem::path& file) {
  while (flock(descriptor, LOCK_EX) != 0) {
    if (errno != EINTR) fail("flock", file);
  }
}

/// Whether the path still names the open file; the holder before us removes it.
bool is_current(int descriptor, const std::filesystem::path& file) {
  struct stat opened = {};
  struct stat named = {};
  if (fstat(descriptor, &opened) != 0 || stat(file.c_str(), &named) != 0) return false;
  return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(std::filesystem::path file) : file_(std::move(file)) {
  while (true) {
    descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail("open", file_);
    try {
      lock_exclusively(descriptor_, file_);
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

}  // namespace iris
