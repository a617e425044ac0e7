#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

/// Devices' memory over files, which other processes map by handles. Callers see to it that one calls at a time.
class FakeSharedMemory {
 public:
  /// What stands in a handle of interprocess communication. Handles of one allocation are compared by their bytes, so
  /// none are padding.
  struct Handle {
    void* address;
    std::size_t bytes;
    pid_t process;
    int file;
  };
  static_assert(std::has_unique_object_representations_v<Handle>);

  /// Dirty, so that a test sees whether it was cleared. Null: there is none.
  void* allocate(std::size_t bytes) {
    const int file = ::memfd_create("fake HIP", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
    void* const begin = map({bytes, file});
    std::memset(begin, 0xab, bytes);
    return begin;
  }
  void release(void* begin) {
    ::munmap(begin, parts_.at(begin).bytes);
    ::close(parts_.at(begin).file);
    parts_.erase(begin);
  }

  Handle handle_of(void* begin) const {
    const Part& part = parts_.at(begin);
    return {begin, part.bytes, ::getpid(), part.file};
  }
  /// In the process that made it, the address stays. Null: it cannot be opened.
  void* open(const Handle& handle) {
    if (handle.process == ::getpid()) return handle.address;
    const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const begin = map({handle.bytes, file});
    ::close(file);
    parts_[begin].file = of_another_process;
    return begin;
  }
  void close(void* begin) {
    if (parts_.at(begin).file == of_another_process) ::munmap(begin, parts_.at(begin).bytes);
  }

  /// Where the allocation with that byte begins, and its size. False: there is none.
  bool find(const void* data, void*& begin, std::size_t& bytes) const {
    for (const auto& [first, part] : parts_) {
      if (data < first || data >= static_cast<const char*>(first) + part.bytes) continue;
      begin = first;
      bytes = part.bytes;
      return true;
    }
    return false;
  }
  /// Whether so many bytes lie in the allocation that begins there.
  bool holds(void* begin, const char* data, std::size_t bytes) const {
    const auto found = parts_.find(begin);
    return found != parts_.end() && data >= begin &&
           data + bytes <= static_cast<const char*>(begin) + found->second.bytes;
  }

 private:
  static constexpr int of_another_process = -1;

  struct Part {
    std::size_t bytes;
    int file;
  };

  void* map(const Part& part) {
    void* const begin = ::mmap(nullptr, part.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, part.file, 0);
    parts_[begin] = part;
    return begin;
  }

  std::map<void*, Part> parts_;
};
