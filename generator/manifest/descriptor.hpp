#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace iris {

/// An open file, closed on every way out; errno stays as it is. Negative: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    const int error = errno;
    close();
    errno = error;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  /// Names the open file for code that takes a path.
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  /// False, with errno set, where the system reports only here that something was not written.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// False, with errno set, if not all could be written.
inline bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// From here to the end, or about so many bytes; nothing, with errno set, if that cannot be read.
inline std::optional<std::string> read_all(int file, std::size_t most = std::string::npos) {
  std::string content;
  std::array<char, 1 << 16> buffer;
  while (content.size() < most) {
    const ssize_t size = ::read(file, buffer.data(), buffer.size());
    if (size < 0 && errno != EINTR) return std::nullopt;
    if (size == 0) return content;
    if (size > 0) content.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return content;
}

}  // namespace iris
