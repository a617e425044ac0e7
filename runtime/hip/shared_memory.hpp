#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "runtime/hip/caller.hpp"

namespace iris::hip {

/// Device memory that processes share. By virtual memory management, whose allocations are exported as files; on AMD
/// before ROCm 7.2, which has no such memory that GPUs see one another's stores in while kernels run, by IPC handles of
/// fine-grained memory, which travel in a file's content.
class SharedMemory {
 public:
  explicit SharedMemory(const Caller& caller) : caller_(caller) {}
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The device is current in each of these.
  void* allocate(std::size_t bytes);
  /// An open file that stands for it, which the caller closes.
  int export_file(void* memory);
  std::string description() const;  ///< "IPC handles"
  void* import_file(int file, std::size_t bytes);
  /// False for memory that is none of this.
  bool release(void* memory) noexcept;

 private:
  enum class Kind { allocated, imported, ipc_allocated, ipc_imported };
  struct Mapping {
    Kind kind;
    std::size_t bytes;
    AllocationHandle handle;  ///< of virtual memory management
  };

  AllocationProperties properties() const;
  std::size_t whole_units(std::size_t bytes) const;
  void* map(AllocationHandle handle, std::size_t bytes, Kind kind);
  int export_ipc(void* memory);
  void* import_ipc(int file, std::size_t bytes);
  void unmap(void* memory, const Mapping& mapping) noexcept;

  const Functions& call() const { return caller_.api->call; }

  const Caller& caller_;
  std::map<void*, Mapping> mappings_;
};

}  // namespace iris::hip
