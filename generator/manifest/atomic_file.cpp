#include "generator/manifest/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace iris {

namespace {

int create(int folder, const std::string& name, int mode) {
  ::unlinkat(folder, name.c_str(), 0);
  return ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

}  // namespace

AtomicFile::AtomicFile(int folder, std::string temporary, int mode, std::string shown)
    : folder_(folder),
      temporary_(std::move(temporary)),
      shown_(std::move(shown)),
      descriptor_(create(folder_, temporary_, mode)) {
  if (descriptor_.get() < 0) fail(errno);
}

AtomicFile::~AtomicFile() {
  if (!published_) ::unlinkat(folder_, temporary_.c_str(), 0);
}

void AtomicFile::write(std::string_view bytes) const {
  if (!write_all(descriptor_.get(), bytes)) fail(errno);
}

void AtomicFile::flush() const {
  if (::fsync(descriptor_.get()) != 0) fail(errno);
}

void AtomicFile::publish(int folder, const std::string& name) {
  // Some file systems report only here that there was no room.
  if (!descriptor_.close()) fail(errno);
  if (::renameat(folder_, temporary_.c_str(), folder, name.c_str()) != 0) fail(errno);
  published_ = true;
}

void AtomicFile::fail(int error) const {
  throw std::system_error(error, std::generic_category(), "cannot write " + shown_);
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(), "cannot write " + path.string());
}

/// Into what is no file of its own: a terminal, a pipe, /dev/null.
void write_into(const fs::path& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0 || !write_all(file.get(), bytes) || !file.close()) fail_to_write(path);
}

}  // namespace

void write_whole_file(const fs::path& path, std::string_view content) {
  const fs::path file = fs::is_symlink(fs::symlink_status(path)) ? fs::weakly_canonical(path) : path;
  const fs::file_status status = fs::status(file);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    write_into(file, content);
    return;
  }
  AtomicFile output(AT_FDCWD, file.string() + ".unfinished-" + std::to_string(::getpid()), 0666, path.string());
  output.write(content);
  output.publish(AT_FDCWD, file.string());
}

}  // namespace iris
