#include "runtime/system/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace iris {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A file that is removed again unless it is published.
class PartialFile {
 public:
  explicit PartialFile(const std::filesystem::path& folder) : path_((folder / "XXXXXX").string()) {
    descriptor_ = mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot create a file in " + folder.string());
  }
  ~PartialFile() {
    close(descriptor_);
    if (!published_) unlink(path_.c_str());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail("cannot write " + path_);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void publish(const std::filesystem::path& file) {
    if (fsync(descriptor_) != 0) fail("cannot flush " + path_);
    if (rename(path_.c_str(), file.c_str()) != 0) fail("cannot rename " + path_ + " to " + file.string());
    published_ = true;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool published_ = false;
};

}  // namespace

void write_atomically(const std::filesystem::path& file, const std::filesystem::path& partial,
                      std::initializer_list<std::string_view> pieces) {
  PartialFile output(partial);
  for (const std::string_view piece : pieces) output.write(piece);
  output.publish(file);
}

}  // namespace iris
