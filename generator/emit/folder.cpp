#include "generator/emit/folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "generator/manifest/atomic_file.hpp"

namespace irisgen {
namespace {

/// One name serves every write: the folder is locked. What a killed process left under it is overwritten.
constexpr const char* unfinished_name = ".irisgen.unfinished";

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::generic_category().message(error));
}

}  // namespace

Folder::Folder(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_.get() < 0) fail("cannot open the folder " + path.string(), errno);
  while (::flock(descriptor_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) fail("cannot lock the folder " + path.string(), errno);
  }
}

std::optional<std::string> Folder::read(const std::string& name) const {
  const iris::Descriptor file(
      ::openat(descriptor_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0 && errno == ELOOP) throw std::runtime_error(path_of(name) + " is a symbolic link; remove it");
  if (file.get() < 0) fail("cannot read " + path_of(name), errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail("cannot read " + path_of(name), errno);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path_of(name) + " is no regular file; remove it");

  auto content = iris::read_all(file.get());
  if (!content) fail("cannot read " + path_of(name), errno);
  return content;
}

void Folder::write(const std::string& name, std::string_view content) const {
  iris::AtomicFile file(descriptor_.get(), unfinished_name, 0666, path_of(name));
  file.write(content);
  file.publish(descriptor_.get(), name);
}

void Folder::remove(const std::string& name) const {
  if (::unlinkat(descriptor_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    fail("cannot remove " + path_of(name), errno);
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("cannot make the folder " + path.string(), error.value());
}

bool is_plain_name(std::string_view name) {
  const auto is_bad = [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ' || c == 127; };
  return !name.empty() && name[0] != '.' && std::ranges::none_of(name, is_bad);
}

}  // namespace irisgen
