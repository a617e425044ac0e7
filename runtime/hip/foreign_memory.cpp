#include "runtime/hip/foreign_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace iris::hip {

/// One allocation of the library's that a range lies in, in whole or in part.
struct ForeignMemory::Part {
  Part(const Functions& of_call, char* of_begin, std::size_t of_bytes)
      : call(&of_call), begin(of_begin), bytes(of_bytes) {
    if (!call->hipMemRetainAllocationHandle) return;
    if (call->hipMemRetainAllocationHandle(&handle, begin) != success) handle = nullptr;
  }
  ~Part() {
    if (handle != nullptr) call->hipMemRelease(handle);
  }
  Part(Part&& other) noexcept
      : call(other.call), begin(other.begin), bytes(other.bytes), handle(std::exchange(other.handle, nullptr)) {}
  Part& operator=(Part&&) = delete;

  const Functions* call;
  char* begin;
  std::size_t bytes;
  AllocationHandle handle = nullptr;  ///< of virtual memory
};

ForeignMemory::~ForeignMemory() {
  while (!imports_.empty()) release(imports_.begin()->first);
}

std::runtime_error ForeignMemory::error(const std::string& what) const {
  return std::runtime_error("rank " + std::to_string(caller_.rank) + ", device " + std::to_string(caller_.device) +
                            ": " + what);
}

std::vector<ForeignMemory::Part> ForeignMemory::parts_of(void* memory, std::size_t bytes) const {
  if (!call().hipMemGetAddressRange) throw error(caller_.api->description + " does not tell of allocations; update it");
  void* pool = nullptr;
  const bool is_pools =
      call().hipPointerGetAttribute &&
      call().hipPointerGetAttribute(static_cast<void*>(&pool), pointer_attribute_pool, memory) == success && pool;
  if (is_pools) {
    throw error(
        "the memory is a pool's (cudaMallocAsync, hipMallocAsync), which peers cannot be given by address; take "
        "it from cudaMalloc or hipMalloc, in PyTorch from its own allocator (backend:native)");
  }
  std::vector<Part> parts;
  char* const end = static_cast<char*>(memory) + bytes;
  for (char* at = static_cast<char*>(memory); at < end; at = parts.back().begin + parts.back().bytes) {
    void* begin = nullptr;
    std::size_t size = 0;
    const Error found = call().hipMemGetAddressRange(&begin, &size, at);
    const bool holds = found == success && begin <= at && static_cast<char*>(begin) + size > at;
    if (!holds) {
      throw error("what lies " + std::to_string(at - static_cast<char*>(memory)) + " bytes into the memory is no " +
                  "allocation of the GPU's library; take it from cudaMalloc or hipMalloc, or map virtual memory there");
    }
    parts.emplace_back(call(), static_cast<char*>(begin), size);
  }
  return parts;
}

void ForeignMemory::open_to_devices(void* memory, std::size_t bytes, std::span<const int> devices) const {
  std::vector<int> each(devices.begin(), devices.end());
  std::ranges::sort(each);
  each.erase(std::ranges::unique(each).begin(), each.end());
  for (const Part& part : parts_of(memory, bytes)) {
    if (part.handle == nullptr) continue;
    for (const int device : each) {
      const AccessDescription access{{location_device, device}, access_read_write};
      caller_.check(call().hipMemSetAccess(part.begin, part.bytes, &access, 1), "hipMemSetAccess",
                    std::to_string(part.bytes) + " bytes of virtual memory, from device " + std::to_string(device));
    }
  }
}

ExportedMemory ForeignMemory::export_range(void* memory, std::size_t bytes) const {
  const std::vector<Part> parts = parts_of(memory, bytes);
  const auto offset = static_cast<std::size_t>(static_cast<char*>(memory) - parts.front().begin);
  const auto virtual_parts = std::ranges::count_if(parts, [](const Part& part) { return part.handle != nullptr; });
  if (virtual_parts == std::ssize(parts)) return export_virtual(parts, offset);
  if (parts.size() == 1) return export_ipc(parts.front(), offset);
  throw error(
      "the memory lies in " + std::to_string(parts.size()) +
      " allocations, not all of virtual memory, which other processes cannot map side by side; adopt what lies in "
      "one");
}

ExportedMemory ForeignMemory::export_virtual(const std::vector<Part>& parts, std::size_t offset) const {
  ExportedMemory exported{.offset = offset};
  for (const Part& part : parts) {
    int file = -1;
    if (call().hipMemExportToShareableHandle(&file, part.handle, handle_type_file, 0) != success) {
      for (const int open : exported.files) ::close(open);
      throw error(
          "the virtual memory was created without a handle that other processes can open; create it with "
          "requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, which PyTorch's expandable segments "
          "have unless TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=0, or go without them: "
          "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False");
    }
    exported.files.push_back(file);
    exported.sizes.push_back(part.bytes);
  }
  return exported;
}

ExportedMemory ForeignMemory::export_ipc(const Part& part, std::size_t offset) const {
  if (!call().hipIpcGetMemHandle) throw error(caller_.api->description + " has no IPC handles; update it");
  IpcHandle handle{};
  caller_.check(call().hipIpcGetMemHandle(&handle, part.begin), "hipIpcGetMemHandle",
                std::to_string(part.bytes) + " bytes to share; they must come from cudaMalloc or hipMalloc");
  return {.handle = std::string(handle.reserved, sizeof handle.reserved), .offset = offset};
}

void* ForeignMemory::import_range(const ExportedMemory& exported) {
  Import import = exported.handle.empty() ? map(exported) : open(exported.handle);
  void* const memory = import.base + exported.offset;
  imports_.emplace(memory, std::move(import));
  return memory;
}

/// Side by side, as they lie where they come from.
ForeignMemory::Import ForeignMemory::map(const ExportedMemory& exported) const {
  const std::vector<std::size_t>& sizes = exported.sizes;
  Import import;
  for (const std::size_t size : sizes) import.bytes += size;
  const std::string detail = std::to_string(import.bytes) +
                             " bytes of another process; the GPUs of one world must be " +
                             "linked (NVLink, xGMI, or PCIe with peer access)";
  void* base = nullptr;
  caller_.check(call().hipMemAddressReserve(&base, import.bytes, 0, nullptr, 0), "hipMemAddressReserve", detail);
  import.base = static_cast<char*>(base);
  try {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      AllocationHandle handle = nullptr;
      const auto file = static_cast<std::uintptr_t>(exported.files.at(i));
      void* const number = reinterpret_cast<void*>(file);  // NOLINT(performance-no-int-to-ptr): itself, as a pointer
      caller_.check(call().hipMemImportFromShareableHandle(&handle, number, handle_type_file),
                    "hipMemImportFromShareableHandle", detail);
      if (const Error error = call().hipMemMap(import.base + offset, sizes[i], 0, handle, 0); error != success) {
        call().hipMemRelease(handle);
        caller_.check(error, "hipMemMap", detail);
      }
      import.pieces.push_back({handle, sizes[i]});
      offset += sizes[i];
    }
    const AccessDescription access{{location_device, caller_.device}, access_read_write};
    caller_.check(call().hipMemSetAccess(import.base, import.bytes, &access, 1), "hipMemSetAccess", detail);
  } catch (...) {
    unmap(import);
    throw;
  }
  return import;
}

ForeignMemory::Import ForeignMemory::open(const std::string& ipc_handle) {
  auto known = opened_.find(ipc_handle);
  if (known == opened_.end()) {
    IpcHandle handle{};
    std::memcpy(handle.reserved, ipc_handle.data(), std::min(ipc_handle.size(), sizeof handle.reserved));
    void* base = nullptr;
    caller_.check(call().hipIpcOpenMemHandle(&base, handle, ipc_lazy_enable_peer_access), "hipIpcOpenMemHandle",
                  "memory of another process");
    known = opened_.emplace(ipc_handle, Opened{static_cast<char*>(base), 0}).first;
  }
  ++known->second.uses;
  return {.base = known->second.base, .ipc_handle = ipc_handle};
}

bool ForeignMemory::release(void* memory) noexcept {
  const auto found = imports_.find(memory);
  if (found == imports_.end()) return false;
  const Import& import = found->second;
  if (call().hipSetDevice(caller_.device) == success) {
    if (import.ipc_handle.empty()) {
      unmap(import);
    } else {
      close(import.ipc_handle);
    }
  }
  imports_.erase(found);
  return true;
}

std::uint64_t ForeignMemory::allocation_of(const void* memory) const noexcept {
  std::uint64_t number = 0;
  if (!call().hipPointerGetAttribute) return 0;
  const Error error = call().hipPointerGetAttribute(&number, pointer_attribute_buffer, const_cast<void*>(memory));
  return error == success ? number : 0;
}

void ForeignMemory::unmap(const Import& import) const noexcept {
  char* at = import.base;
  for (const Piece& piece : import.pieces) {
    call().hipMemUnmap(at, piece.bytes);
    call().hipMemRelease(piece.handle);
    at += piece.bytes;
  }
  call().hipMemAddressFree(import.base, import.bytes);
}

void ForeignMemory::close(const std::string& ipc_handle) noexcept {
  const auto known = opened_.find(ipc_handle);
  if (--known->second.uses > 0) return;
  call().hipIpcCloseMemHandle(known->second.base);
  opened_.erase(known);
}

}  // namespace iris::hip
