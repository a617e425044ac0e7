#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "iris/device.hpp"
#include "runtime/hip/caller.hpp"

namespace iris::hip {

/// Device memory that others of this process have allocated, for peers to address: what hipMalloc gave, and virtual
/// memory, whose ranges may lie in several allocations side by side, as those of PyTorch's expandable segments do.
class ForeignMemory {
 public:
  explicit ForeignMemory(const Caller& caller) : caller_(caller) {}
  ~ForeignMemory();
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  // The device is current in each of these, which throw in words what is not to be addressed by peers.

  /// To these devices, which have peer access to what is not virtual memory.
  void open_to_devices(void* memory, std::size_t bytes, std::span<const int> devices) const;
  /// To other processes. Virtual memory travels as files, other memory as an IPC handle.
  ExportedMemory export_range(void* memory, std::size_t bytes) const;
  void* import_range(const ExportedMemory& exported);
  /// False for memory that import_range() did not return.
  bool release(void* memory) noexcept;

  /// As Device::allocation_of.
  std::uint64_t allocation_of(const void* memory) const noexcept;

 private:
  struct Part;
  struct Piece {
    AllocationHandle handle;
    std::size_t bytes;
  };
  /// Virtual memory that is mapped here, or memory that a handle of IPC has opened.
  struct Import {
    char* base = nullptr;
    std::size_t bytes = 0;           ///< of reserved addresses
    std::vector<Piece> pieces = {};  ///< that are mapped there, one after another
    std::string ipc_handle = {};     ///< empty: virtual memory
  };
  /// An IPC handle is opened once: caching allocators give out many parts of what one stands for.
  struct Opened {
    char* base;
    int uses;
  };

  std::vector<Part> parts_of(void* memory, std::size_t bytes) const;
  ExportedMemory export_virtual(const std::vector<Part>& parts, std::size_t offset) const;
  ExportedMemory export_ipc(const Part& part, std::size_t offset) const;
  Import map(const ExportedMemory& exported) const;
  Import open(const std::string& ipc_handle);
  void unmap(const Import& import) const noexcept;
  void close(const std::string& ipc_handle) noexcept;
  std::runtime_error error(const std::string& what) const;

  const Functions& call() const { return caller_.api->call; }

  const Caller& caller_;
  std::map<void*, Import> imports_;       ///< by what import_range() returned
  std::map<std::string, Opened> opened_;  ///< by the handle's bytes
};

}  // namespace iris::hip
