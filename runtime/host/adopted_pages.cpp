#include "runtime/host/adopted_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace iris::host {
namespace {

/// A line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string permissions = {};  ///< "rw-p"
  ino_t inode = 0;
};

/// Whether all of [begin, end) is mapped, in parts that `accepts`.
bool is_mapped(std::uintptr_t begin, std::uintptr_t end, const std::function<bool(const Mapping&)>& accepts) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; begin < end && std::getline(maps, line);) {
    std::istringstream text(line);
    Mapping mapping;
    char dash = 0;
    std::string offset;
    std::string device;
    text >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.permissions >> offset >> device >> std::dec >>
        mapping.inode;
    if (mapping.end <= begin) continue;
    if (mapping.begin > begin || !accepts(mapping)) return false;
    begin = mapping.end;
  }
  return begin >= end;
}

std::uintptr_t number_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

void check_pages(const void* memory, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (number_of(memory) % page != 0 || bytes % page != 0) {
    throw std::runtime_error("on the CPU, processes share memory in whole pages: it must begin at a multiple of " +
                             std::to_string(page) + " bytes and be a multiple of that long; take it from " +
                             "std::aligned_alloc(" + std::to_string(page) + ", …)");
  }
  if (!std::ifstream("/proc/self/maps")) {
    throw std::runtime_error(std::string("what memory this process has cannot be read (/proc/self/maps): ") +
                             std::strerror(errno));
  }
  const auto begin = number_of(memory);
  const bool is_private = is_mapped(begin, begin + bytes, [](const Mapping& mapping) {
    const std::string_view permissions = mapping.permissions;
    return permissions.starts_with("rw") && permissions.ends_with('p');
  });
  if (!is_private) {
    throw std::runtime_error(
        "the memory is not all this process's own, to read and to write: a part is shared, read "
        "only or not mapped; take it from std::aligned_alloc(" +
        std::to_string(page) + ", …)");
  }
}

[[noreturn]] void fail(std::size_t bytes) {
  throw std::runtime_error("cannot put " + std::to_string(bytes) +
                           " bytes behind a file that processes share: " + std::strerror(errno));
}

/// Word by word, since AddressSanitizer has memcpy look whether the memory is still allocated: what its owner has given
/// back to malloc is there all the same, with what malloc keeps in it.
__attribute__((no_sanitize("address"))) void copy_pages(void* to, const void* from, std::size_t bytes) {
  auto* const words = static_cast<std::uint64_t*>(to);
  const auto* const all = static_cast<const volatile std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) words[i] = all[i];
}

}  // namespace

AdoptedPages::AdoptedPages(void* memory, std::size_t bytes)
    : begin_(static_cast<char*>(memory)), bytes_(bytes), file_(-1) {
  check_pages(memory, bytes);
  file_ = Descriptor(::memfd_create("irisgen adopted", MFD_CLOEXEC));
  if (file_.get() < 0 || !write_all(file_.get(), {begin_, bytes_})) fail(bytes);
  const void* mapped = ::mmap(begin_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(), 0);
  if (mapped != begin_) fail(bytes);
}

/// Memory that its owner gave back in spite of its adoption may be somebody else's by now, and is left alone.
AdoptedPages::~AdoptedPages() {
  struct stat file{};
  if (::fstat(file_.get(), &file) != 0) return;
  file_.close();  // so that there is a descriptor to read by what is mapped
  const std::uintptr_t begin = number_of(begin_);
  const bool still_ours =
      is_mapped(begin, begin + bytes_, [&](const Mapping& mapping) { return mapping.inode == file.st_ino; });
  if (!still_ours) return;
  void* own = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;  // it stays as it is, which its owner does not notice
  copy_pages(own, begin_, bytes_);
  ::mremap(own, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, begin_);
}

}  // namespace iris::host
