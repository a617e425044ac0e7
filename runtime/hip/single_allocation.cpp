#include "runtime/hip/single_allocation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "generator/manifest/descriptor.hpp"

namespace iris::hip {
namespace {

/// The rank of a message about what is missing.
std::string who(const Caller& caller) {
  return "rank " + std::to_string(caller.rank) + ", device " + std::to_string(caller.device);
}

}  // namespace

SingleAllocation::SingleAllocation(const Caller& caller, const RangeOptions& options, Clear clear)
    : caller_(caller), clear_(std::move(clear)) {
  const bool has_handles = call().hipIpcGetMemHandle && call().hipIpcOpenMemHandle && call().hipIpcCloseMemHandle;
  if (!options.among_processes || has_handles) return;
  throw std::runtime_error(who(caller_) + ": " + caller_.api->description +
                           " has neither virtual memory management nor IPC handles, so that processes cannot share "
                           "memory; update it, or run all ranks in one process");
}

/// Perhaps on another thread than the rank's. Nobody can act on a failure here.
SingleAllocation::~SingleAllocation() {
  if (begin_ != nullptr && call().hipSetDevice(caller_.device) == success) remove_last();
}

void SingleAllocation::add(std::size_t bytes) {
  void* memory = nullptr;
  caller_.check(call().hipExtMallocWithFlags(&memory, bytes, malloc_fine_grained), "hipExtMallocWithFlags",
                byte_count(bytes));
  begin_ = static_cast<char*>(memory);
  try {
    clear_(memory, bytes);
  } catch (...) {
    remove_last();
    throw;
  }
}

void SingleAllocation::add_imported(int file, std::size_t bytes) {
  IpcHandle handle{};
  if (::pread(file, handle.reserved, sizeof handle.reserved, 0) != static_cast<ssize_t>(sizeof handle.reserved)) {
    throw std::runtime_error(who(caller_) + " was handed over what is no IPC handle; all ranks need the same library");
  }
  void* memory = nullptr;
  caller_.check(call().hipIpcOpenMemHandle(&memory, handle, ipc_lazy_enable_peer_access), "hipIpcOpenMemHandle",
                byte_count(bytes) + " to share");
  begin_ = static_cast<char*>(memory);
  imported_ = true;
}

int SingleAllocation::export_piece(std::size_t) {
  IpcHandle handle{};
  caller_.check(call().hipIpcGetMemHandle(&handle, begin_), "hipIpcGetMemHandle");
  const int file = ::memfd_create("irisgen IPC handle", MFD_CLOEXEC);
  const std::string_view content(handle.reserved, sizeof handle.reserved);
  if (file >= 0 && write_all(file, content)) return file;
  const std::string why = std::strerror(errno);
  if (file >= 0) ::close(file);
  throw std::runtime_error(who(caller_) + " cannot hand over an IPC handle: " + why);
}

void SingleAllocation::remove_last() noexcept {
  void* const memory = std::exchange(begin_, nullptr);
  if (imported_) {
    call().hipIpcCloseMemHandle(memory);
  } else {
    call().hipFree(memory);
  }
}

}  // namespace iris::hip
