#include "runtime/host/page_range.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/system/whole_units.hpp"

namespace iris::host {
namespace {

/// Takes no memory, and counts for nothing but the limit of addresses (ulimit -v).
constexpr int reservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Takes what is mapped there away. Nobody can act on a failure.
void leave_reserved(char* begin, std::size_t bytes) {
  [[maybe_unused]] const void* reserved = ::mmap(begin, bytes, PROT_NONE, reservation | MAP_FIXED, -1, 0);
}

}  // namespace

PageRange::PageRange(std::shared_ptr<Engine> engine, int rank, const RangeOptions& options)
    : engine_(std::move(engine)),
      rank_(rank),
      among_processes_(options.among_processes),
      unit_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      reserved_(whole_units(options.bytes, unit_)) {
  void* memory = ::mmap(nullptr, reserved_, PROT_NONE, reservation, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("rank " + std::to_string(rank_) + " cannot reserve " + std::to_string(reserved_) +
                             " bytes of addresses for a heap on host: " + std::strerror(errno) +
                             "; lower WorldOptions::heap_limit, or raise the limit of addresses (ulimit -v)");
  }
  begin_ = static_cast<char*>(memory);
  if (among_processes_) engine_->share(begin_, reserved_);
}

PageRange::~PageRange() {
  if (among_processes_) engine_->unshare(begin_);
  ::munmap(begin_, reserved_);
}

void PageRange::add(std::size_t bytes) {
  if (!among_processes_) return place(bytes, reservation, -1, Descriptor(-1));
  Descriptor file(::memfd_create("irisgen heap", MFD_CLOEXEC));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    fail("make " + std::to_string(bytes) + " bytes of memory to share");
  }
  const int number = file.get();
  place(bytes, MAP_SHARED | MAP_NORESERVE, number, std::move(file));
}

void PageRange::add_imported(int file, std::size_t bytes) {
  struct stat status{};
  if (::fstat(file, &status) != 0 || std::cmp_less(status.st_size, bytes)) {
    throw std::runtime_error("rank " + std::to_string(rank_) + " was handed over a file of fewer than " +
                             std::to_string(bytes) + " bytes; all ranks need the same irisgen");
  }
  place(bytes, MAP_SHARED | MAP_NORESERVE, file, Descriptor(-1));
}

int PageRange::export_piece(std::size_t number) {
  const int file = ::fcntl(pieces_.at(number).file.get(), F_DUPFD_CLOEXEC, 0);
  if (file < 0) fail("share its memory");
  return file;
}

void PageRange::remove_last() noexcept {
  mapped_ -= pieces_.back().bytes;
  leave_reserved(begin_ + mapped_, pieces_.back().bytes);
  pieces_.pop_back();
}

void PageRange::place(std::size_t bytes, int flags, int file, Descriptor kept) {
  pieces_.reserve(pieces_.size() + 1);
  const void* mapped = ::mmap(begin_ + mapped_, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    leave_reserved(begin_ + mapped_, bytes);  // it may have been unmapped
    errno = error;
    fail("map " + std::to_string(bytes) + " bytes of memory");
  }
  pieces_.push_back({bytes, std::move(kept)});
  mapped_ += bytes;
}

void PageRange::fail(const std::string& what) const {
  throw std::runtime_error("rank " + std::to_string(rank_) + " cannot " + what + " on host: " + std::strerror(errno));
}

}  // namespace iris::host
