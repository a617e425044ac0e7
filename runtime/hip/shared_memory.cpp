#include "runtime/hip/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "generator/manifest/descriptor.hpp"

namespace iris::hip {
namespace {

std::string byte_count(std::size_t bytes) {
  return std::to_string(bytes) + " bytes to share";
}

/// The rank of a message about what is missing.
std::string who(const Caller& caller) {
  return "rank " + std::to_string(caller.rank) + ", device " + std::to_string(caller.device);
}

}  // namespace

SharedMemory::~SharedMemory() {
  while (!mappings_.empty()) release(mappings_.begin()->first);
}

void* SharedMemory::allocate(std::size_t bytes) {
  if (caller_.api->shareable_memory != 0) {
    const std::size_t size = whole_units(bytes);
    const AllocationProperties wanted = properties();
    AllocationHandle handle = nullptr;
    caller_.check(call().hipMemCreate(&handle, size, &wanted, 0), "hipMemCreate", byte_count(size));
    return map(handle, size, Kind::allocated);
  }
  if (!call().hipIpcGetMemHandle || !call().hipIpcOpenMemHandle || !call().hipIpcCloseMemHandle) {
    throw std::runtime_error(who(caller_) + ": " + caller_.api->description +
                             " has neither virtual memory management nor IPC handles, so that processes cannot share "
                             "memory; update it, or run all ranks in one process");
  }
  void* memory = nullptr;
  caller_.check(call().hipExtMallocWithFlags(&memory, bytes, malloc_fine_grained), "hipExtMallocWithFlags",
                byte_count(bytes));
  mappings_.emplace(memory, Mapping{Kind::ipc_allocated, bytes, nullptr});
  return memory;
}

std::string SharedMemory::description() const {
  return caller_.api->shareable_memory != 0 ? "virtual memory" : "IPC handles";
}

int SharedMemory::export_file(void* memory) {
  const Mapping& mapping = mappings_.at(memory);
  if (mapping.kind == Kind::ipc_allocated) return export_ipc(memory);
  int file = -1;
  caller_.check(call().hipMemExportToShareableHandle(&file, mapping.handle, handle_type_file, 0),
                "hipMemExportToShareableHandle", byte_count(mapping.bytes));
  return file;
}

void* SharedMemory::import_file(int file, std::size_t bytes) {
  if (caller_.api->shareable_memory == 0) return import_ipc(file, bytes);
  AllocationHandle handle = nullptr;
  // The file's number itself, as a pointer.
  void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file));  // NOLINT(performance-no-int-to-ptr)
  caller_.check(call().hipMemImportFromShareableHandle(&handle, number, handle_type_file),
                "hipMemImportFromShareableHandle", byte_count(bytes));
  return map(handle, whole_units(bytes), Kind::imported);
}

bool SharedMemory::release(void* memory) noexcept {
  const auto found = mappings_.find(memory);
  if (found == mappings_.end()) return false;
  if (call().hipSetDevice(caller_.device) == success) unmap(memory, found->second);
  mappings_.erase(found);
  return true;
}

AllocationProperties SharedMemory::properties() const {
  AllocationProperties wanted{};
  wanted.type = caller_.api->shareable_memory;
  wanted.handle_types = handle_type_file;
  wanted.location = {location_device, caller_.device};
  return wanted;
}

std::size_t SharedMemory::whole_units(std::size_t bytes) const {
  const AllocationProperties wanted = properties();
  std::size_t unit = 0;
  caller_.check(call().hipMemGetAllocationGranularity(&unit, &wanted, granularity_recommended),
                "hipMemGetAllocationGranularity");
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

/// Takes the handle, and gives it back if that fails.
void* SharedMemory::map(AllocationHandle handle, std::size_t bytes, Kind kind) {
  void* memory = nullptr;
  bool mapped = false;
  try {
    caller_.check(call().hipMemAddressReserve(&memory, bytes, 0, nullptr, 0), "hipMemAddressReserve",
                  byte_count(bytes));
    caller_.check(call().hipMemMap(memory, bytes, 0, handle, 0), "hipMemMap", byte_count(bytes));
    mapped = true;
    const AccessDescription access{{location_device, caller_.device}, access_read_write};
    caller_.check(call().hipMemSetAccess(memory, bytes, &access, 1), "hipMemSetAccess",
                  byte_count(bytes) + (kind == Kind::imported ? ", of another process; the GPUs of one world must be "
                                                                "linked (NVLink, xGMI, or PCIe with peer access)"
                                                              : ""));
    mappings_.emplace(memory, Mapping{kind, bytes, handle});
  } catch (...) {
    if (mapped) call().hipMemUnmap(memory, bytes);
    if (memory != nullptr) call().hipMemAddressFree(memory, bytes);
    call().hipMemRelease(handle);
    throw;
  }
  return memory;
}

int SharedMemory::export_ipc(void* memory) {
  IpcHandle handle{};
  caller_.check(call().hipIpcGetMemHandle(&handle, memory), "hipIpcGetMemHandle");
  const int file = ::memfd_create("irisgen IPC handle", MFD_CLOEXEC);
  const std::string_view content(handle.reserved, sizeof handle.reserved);
  if (file >= 0 && write_all(file, content)) return file;
  const std::string why = std::strerror(errno);
  if (file >= 0) ::close(file);
  throw std::runtime_error(who(caller_) + " cannot hand over an IPC handle: " + why);
}

void* SharedMemory::import_ipc(int file, std::size_t bytes) {
  IpcHandle handle{};
  if (::pread(file, handle.reserved, sizeof handle.reserved, 0) != static_cast<ssize_t>(sizeof handle.reserved)) {
    throw std::runtime_error(who(caller_) + " was handed over what is no IPC handle; all ranks need the same library");
  }
  void* memory = nullptr;
  caller_.check(call().hipIpcOpenMemHandle(&memory, handle, ipc_lazy_enable_peer_access), "hipIpcOpenMemHandle",
                byte_count(bytes));
  mappings_.emplace(memory, Mapping{Kind::ipc_imported, bytes, nullptr});
  return memory;
}

void SharedMemory::unmap(void* memory, const Mapping& mapping) noexcept {
  switch (mapping.kind) {
    case Kind::allocated:
    case Kind::imported:
      call().hipMemUnmap(memory, mapping.bytes);
      call().hipMemAddressFree(memory, mapping.bytes);
      call().hipMemRelease(mapping.handle);
      return;
    case Kind::ipc_allocated:
      call().hipFree(memory);
      return;
    case Kind::ipc_imported:
      call().hipIpcCloseMemHandle(memory);
      return;
  }
}

}  // namespace iris::hip
