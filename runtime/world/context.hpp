#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iris/device/abi.hpp"
#include "iris/world.hpp"
#include "runtime/world/adopted_memory.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

/// What a rank remembers of a loaded operation's launches, to turn faults into exceptions.
struct LaunchRecord {
  std::string operation;
  const device::Fault* fault = nullptr;
  std::uint64_t timeout_ns = 0;
  std::optional<Stream> in_flight;  ///< the stream of launches that nobody has waited for yet
  std::string failure;              ///< why the operation cannot be launched any more; empty while it can
};

/// A rank's part of a World; outlives World::run. Used by the rank's own thread only. Nothing in it assumes that the
/// other ranks are of this process, but for where their heaps begin as addressed from here.
struct Context::State {
  State(int of_rank, Device& of_device, const std::vector<char*>& heap_bases, std::size_t heap_bytes,
        std::unique_ptr<Collectives> with_others, int ranks_on_this_device)
      : rank(of_rank),
        device(of_device),
        bases(heap_bases),
        heap(heap_bytes),
        collectives(std::move(with_others)),
        ranks_on_device(ranks_on_this_device) {}

  int rank;
  Device& device;
  const std::vector<char*>& bases;
  Heap heap;
  AdoptedMemory adopted;
  std::unique_ptr<Collectives> collectives;
  int ranks_on_device;
  std::vector<LaunchRecord*> records;
  std::exception_ptr deferred;  ///< a launch's failure found where it could not be thrown
  std::weak_ptr<void> world;    ///< all that this refers to

  /// Collective allocation under the name of the call that asks for it.
  void* allocate(std::size_t bytes, const std::string& call, Owner owner);
  /// Throws for what is not an allocation of this owner.
  void free(void* memory, Owner owner);
  void synchronize(Stream stream);
  void barrier(const std::string& call);
  bool on_heap(const void* memory, std::size_t bytes) const;
  /// Whether it lies within one allocation of the user's, or within one adoption.
  bool is_allocated(const void* memory, std::size_t bytes) const;
  /// Collective, as Context's of these names.
  void adopt(void* memory, std::size_t bytes);
  void release_adopted(void* memory);

  /// Where symmetric memory lies, in words that every rank understands.
  struct Place {
    const Adoption* adoption;  ///< null: on the heap
    std::uint64_t offset;      ///< in one or the other
  };
  Place place_of(const void* memory) const;
  char* on_rank(char* memory, int peer) const;

  /// Waits for all launches, on whichever streams.
  void finish();
};

}  // namespace iris
