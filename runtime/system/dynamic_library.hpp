#pragma once

#include <span>
#include <string>
#include <vector>

namespace iris {

/// A shared library, opened with dlopen for this object only (nothing of it becomes visible to others) and closed with
/// it. Empty after a move.
class DynamicLibrary {
 public:
  /// Opens the first of `names` that can be opened; each is a path, or a bare name that the loader searches for. Throws
  /// std::runtime_error with the loader's reason for the first of them that exists, else for the last.
  static DynamicLibrary open_first(std::span<const std::string> names);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  /// As it was given to open_first.
  const std::string& name() const { return name_; }

  /// The file that was opened, links resolved.
  std::string path() const;

  /// 5.2.21153 of libamdhip64.so.5.2.21153; the whole file name where it has no number.
  std::string version() const;

  /// nullptr if the library does not export it.
  void* find(const char* symbol) const;

  /// Throws std::runtime_error naming the library and the symbol if it does not export it.
  template <typename Pointer>
  void bind(Pointer*& function, const char* symbol) const {
    function = reinterpret_cast<Pointer*>(get(symbol));
  }

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* get(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_;
};

/// File of the program or library that contains this code, links resolved; empty if the loader cannot tell.
std::string own_file();

/// The folders in which the loader looks for what that file opens by a bare name; empty if it cannot tell. A sanitizer
/// that stands between calls of dlopen has the loader look in its own instead.
std::vector<std::string> own_search_path();

}  // namespace iris
