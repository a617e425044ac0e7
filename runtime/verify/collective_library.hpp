#pragma once

#include <cstddef>
#include <string>

#include "iris/device.hpp"
#include "iris/problem.hpp"
#include "irisgen/target.hpp"
#include "runtime/system/dynamic_library.hpp"
#include "runtime/verify/nccl_unique_id.hpp"

namespace iris {

/// The vendor's library of collectives, NCCL or RCCL, which has NCCL's interface, opened at run time to be measured
/// beside ours. The declarations are our own because its headers are not on every machine that builds irisgen.
class CollectiveLibrary {
 public:
  /// Opens `path` alone if it is not empty, else the name that the vendor gives it. Throws std::runtime_error with a
  /// sentence that names the package if it cannot be opened.
  explicit CollectiveLibrary(irisgen::Platform platform, const std::string& path = {});

  const std::string& description() const { return description_; }  ///< "NCCL 2.28.9"
  /// Whether memory can be registered in windows that all ranks have alike, with which it takes faster ways.
  bool has_windows() const { return calls_.register_window != nullptr; }

  NcclUniqueId make_id() const;

 private:
  friend class Communicator;
  friend class LibraryMemory;
  friend class Window;

  using Result = int;
  using Handle = void*;
  struct Calls {
    Result (*get_version)(int* version);
    Result (*get_unique_id)(NcclUniqueId* id);
    const char* (*error_string)(Result result);
    Result (*init_rank)(Handle* communicator, int world, NcclUniqueId id, int rank);
    Result (*destroy)(Handle communicator);
    Result (*group_start)();
    Result (*group_end)();
    Result (*all_reduce)(const void*, void*, std::size_t count, int type, int op, Handle, Stream);
    Result (*all_gather)(const void*, void*, std::size_t sent, int type, Handle, Stream);
    Result (*reduce_scatter)(const void*, void*, std::size_t received, int type, int op, Handle, Stream);
    Result (*broadcast)(const void*, void*, std::size_t count, int type, int root, Handle, Stream);
    Result (*send)(const void*, std::size_t count, int type, int peer, Handle, Stream);
    Result (*receive)(void*, std::size_t count, int type, int peer, Handle, Stream);
    Result (*allocate)(void** memory, std::size_t bytes);
    Result (*free)(void* memory);
    Result (*register_window)(Handle, void* memory, std::size_t bytes, Handle* window, int flags);
    Result (*deregister_window)(Handle, Handle window);
  };

  /// Throws unless `result` is success.
  void check(Result result, const char* what) const;

  DynamicLibrary library_;
  Calls calls_{};
  std::string description_;
};

/// One rank of a group. Made and ended by all ranks together.
class Communicator {
 public:
  Communicator(const CollectiveLibrary& library, const NcclUniqueId& id, int world, int rank);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Enqueues a collective of a static problem. Rows of all_to_all's shards are taken as one.
  void enqueue(const Problem& problem, const void* input, void* output, Stream stream) const;

 private:
  friend class Window;

  void exchange(const Problem& problem, const char* input, char* output, Stream stream) const;

  const CollectiveLibrary& library_;
  CollectiveLibrary::Handle handle_ = nullptr;
};

/// Memory of the library's own, on the current device; at least a byte.
class LibraryMemory {
 public:
  LibraryMemory(const CollectiveLibrary& library, std::size_t bytes);
  ~LibraryMemory();
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const CollectiveLibrary& library_;
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Registers such memory in a window that all ranks have alike. Made and ended by all ranks together.
class Window {
 public:
  Window(const Communicator& communicator, const LibraryMemory& memory);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

 private:
  const Communicator& communicator_;
  CollectiveLibrary::Handle handle_ = nullptr;
};

}  // namespace iris
