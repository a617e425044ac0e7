#include "runtime/system/private_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "generator/manifest/descriptor.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to(const std::string& what, const fs::path& path) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(), "cannot " + what + " " + path.string());
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + " " + why);
}

void check_owner(const struct stat& status, const fs::path& path) {
  if (status.st_uid != ::geteuid()) {
    refuse(path, "belongs to user " + std::to_string(status.st_uid) +
                     ", who could change the code that runs; set IRISGEN_CACHE to a folder of your own");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refuse(path, "may be written by other users, who could change the code that runs; remove it, and it is made anew");
  }
}

}  // namespace

void make_private_folder(const fs::path& folder) {
  if (folder.has_parent_path() && !fs::exists(folder.parent_path())) make_private_folder(folder.parent_path());
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail_to("make the folder", folder);
  is_private_folder(folder);
}

bool is_private_folder(const fs::path& folder) {
  struct stat status = {};
  if (::lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    fail_to("look at", folder);
  }
  if (S_ISLNK(status.st_mode)) refuse(folder, "is a symbolic link; set IRISGEN_CACHE to the folder itself");
  if (!S_ISDIR(status.st_mode)) refuse(folder, "is no folder");
  check_owner(status, folder);
  return true;
}

std::optional<std::string> read_private_file(const fs::path& file, std::size_t most) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (opened.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    if (errno == ELOOP) refuse(file, "is a symbolic link; remove it");
    fail_to("read", file);
  }
  struct stat status = {};
  if (::fstat(opened.get(), &status) != 0) fail_to("read", file);
  if (!S_ISREG(status.st_mode)) refuse(file, "is no regular file; remove it");
  check_owner(status, file);

  auto content = read_all(opened.get(), most);
  if (!content) fail_to("read", file);
  return content;
}

}  // namespace iris
