#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "generator/manifest/descriptor.hpp"
#include "runtime/hip/api.hpp"

/// Virtual memory management as drivers have it, over memory files, with their rules: lengths in whole units, mappings
/// of whole handles into reserved addresses that nothing is mapped to, access only to what is mapped, and nothing
/// unmapped or freed in part. Handles are numbers. What the calls of CUDA and HIP give is 0 or an error.
struct FakeVirtualMemory {
  static constexpr std::size_t unit = std::size_t{2} << 20;
  static constexpr int invalid_value = 1;
  static constexpr int out_of_memory = 2;

  /// Lives as long as a handle or a mapping does.
  struct Memory {
    iris::Descriptor file;
    std::size_t bytes;
    bool exportable;
    bool imported;
  };
  using Ranges = std::map<char*, std::shared_ptr<Memory>>;
  std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();  ///< that allocations may take together
  int live_handles = 0;                                                ///< that were not released
  int live_mappings = 0;                                               ///< in reserved addresses
  int creations = 0;                                                   ///< of memory, ever
  bool may_be_accessed = true;                                         ///< false: access is refused
  bool may_be_imported = true;                                         ///< false: others' files and handles are refused
  int full_device = -1;                                                ///< which has no memory left
  std::set<int> accessing;                                             ///< devices to which access was given
  std::map<char*, std::size_t> reserved;                               ///< by their begin
  Ranges mapped;                                                       ///< the same

  /// Of what was created here and is not gone.
  std::size_t allocated_bytes() const {
    std::set<const Memory*> memories;
    for (const auto& [handle, memory] : handles_) memories.insert(memory.get());
    for (const auto& [begin, memory] : mapped) memories.insert(memory.get());
    std::size_t bytes = 0;
    for (const Memory* memory : memories) bytes += memory->imported ? 0 : memory->bytes;
    return bytes;
  }

  int create(int& handle, std::size_t bytes, const iris::hip::AllocationProperties& properties) {
    if (bytes == 0 || bytes % unit != 0) return invalid_value;
    if (bytes > memory_bytes - allocated_bytes() || properties.location.device == full_device) return out_of_memory;
    iris::Descriptor file(::memfd_create("fake memory", MFD_CLOEXEC));
    if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return out_of_memory;
    ++creations;
    handle = know(std::make_shared<Memory>(Memory{std::move(file), bytes, properties.handle_types == 1, false}));
    return 0;
  }
  int release(int handle) {
    if (handles_.erase(handle) == 0) return invalid_value;
    --live_handles;
    return 0;
  }

  int reserve(void*& memory, std::size_t bytes) {
    if (bytes == 0 || bytes % unit != 0) return invalid_value;
    memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return out_of_memory;
    reserved[static_cast<char*>(memory)] = bytes;
    return 0;
  }
  int free_addresses(void* memory, std::size_t bytes) {
    const auto found = reserved.find(static_cast<char*>(memory));
    const bool is_whole = found != reserved.end() && found->second == bytes;
    if (!is_whole || overlaps_mapped(static_cast<char*>(memory), bytes)) return invalid_value;
    reserved.erase(found);
    return ::munmap(memory, bytes) == 0 ? 0 : invalid_value;
  }

  int map(void* memory, std::size_t bytes, std::size_t offset, int handle) {
    char* const begin = static_cast<char*>(memory);
    const auto found = handles_.find(handle);
    if (found == handles_.end() || offset != 0 || bytes != found->second->bytes) return invalid_value;
    if (!lies_in_reserved(begin, bytes) || overlaps_mapped(begin, bytes)) return invalid_value;
    const int file = found->second->file.get();
    if (::mmap(begin, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) != begin) return invalid_value;
    mapped[begin] = found->second;
    ++live_mappings;
    return 0;
  }
  /// One whole mapping, or several side by side.
  int unmap(void* memory, std::size_t bytes) {
    char* const begin = static_cast<char*>(memory);
    if (!is_whole_mappings(begin, begin + bytes)) return invalid_value;
    for (char* at = begin; at < begin + bytes;) {
      const std::size_t length = mapped.at(at)->bytes;
      ::mmap(at, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
      mapped.erase(at);
      --live_mappings;
      at += length;
    }
    return 0;
  }
  int set_access(void* memory, std::size_t bytes, int device) {
    char* const begin = static_cast<char*>(memory);
    if (!may_be_accessed || !is_whole_mappings(begin, begin + bytes)) return invalid_value;
    accessing.insert(device);
    return ::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : invalid_value;
  }

  int export_file(int& file, int handle) const {
    const auto found = handles_.find(handle);
    if (found == handles_.end() || !found->second->exportable) return invalid_value;
    file = ::fcntl(found->second->file.get(), F_DUPFD_CLOEXEC, 0);
    return file >= 0 ? 0 : invalid_value;
  }
  int import_file(int& handle, int file) {
    iris::Descriptor own(::fcntl(file, F_DUPFD_CLOEXEC, 0));
    struct stat status{};
    if (!may_be_imported || own.get() < 0 || ::fstat(own.get(), &status) != 0 || status.st_size <= 0)
      return invalid_value;
    handle =
        know(std::make_shared<Memory>(Memory{std::move(own), static_cast<std::size_t>(status.st_size), true, true}));
    return 0;
  }
  /// A handle of what is mapped there.
  int retain(int& handle, void* memory) {
    const auto mapping = range_with(mapped, memory);
    if (mapping == mapped.end()) return invalid_value;
    handle = know(mapping->second);
    return 0;
  }

  /// Of ranges by their begin, the one that the memory lies in.
  template <typename Map>
  static typename Map::const_iterator range_with(const Map& ranges, void* memory) {
    const auto behind = ranges.upper_bound(static_cast<char*>(memory));
    if (behind == ranges.begin()) return ranges.end();
    const auto before = std::prev(behind);
    return static_cast<char*>(memory) < before->first + length_of(before->second) ? before : ranges.end();
  }

 private:
  static std::size_t length_of(std::size_t bytes) { return bytes; }
  static std::size_t length_of(const std::shared_ptr<Memory>& memory) { return memory->bytes; }

  int know(std::shared_ptr<Memory> memory) {
    ++live_handles;
    handles_[++last_handle_] = std::move(memory);
    return last_handle_;
  }
  bool lies_in_reserved(char* begin, std::size_t bytes) const {
    const auto range = range_with(reserved, begin);
    return range != reserved.end() && begin + bytes <= range->first + range->second;
  }
  bool overlaps_mapped(char* begin, std::size_t bytes) const {
    return std::ranges::any_of(mapped, [&](const auto& entry) {
      return entry.first < begin + bytes && begin < entry.first + entry.second->bytes;
    });
  }
  bool is_whole_mappings(char* begin, char* end) const {
    while (begin < end) {
      const auto found = mapped.find(begin);
      if (found == mapped.end()) return false;
      begin += found->second->bytes;
    }
    return begin == end;
  }

  int last_handle_ = 0;
  std::map<int, std::shared_ptr<Memory>> handles_;
};
