#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  std::span<const int> ranks;  ///< of the world, by those that its kernels know
  const device::Fault* fault = nullptr;
  std::uint64_t timeout_ns = 0;
  std::optional<Stream> in_flight;  ///< the stream of launches that nobody has waited for yet
  std::string failure;              ///< why the operation cannot be launched any more; empty while it can
};

/// A rank's part of a World, which its groups refer to; outlives World::run. Used by the rank's own thread only.
/// Nothing in it assumes that the other ranks are of this process, but for where their heaps begin as addressed from
/// here.
struct Context::State {
  State(int of_rank, Device& of_device, const std::vector<char*>& heap_bases, std::size_t heap_bytes,
        std::unique_ptr<WorldCollectives> with_others, int ranks_on_this_device);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int rank;
  Device& device;
  const std::vector<char*>& bases;
  Heap heap;
  AdoptedMemory adopted;
  int ranks_on_device;
  std::vector<LaunchRecord*> records;
  std::exception_ptr deferred;        ///< a launch's failure found where it could not be thrown
  std::weak_ptr<void> world;          ///< all that this refers to
  WorldCollectives& collectives;      ///< those of `all`
  std::unique_ptr<Group::State> all;  ///< the group of all ranks
  /// What the heap calls those that this rank has been in, by their ranks in ascending order: what a group has freed
  /// and not released is its successor's.
  std::map<std::vector<int>, int> groups;

  void synchronize(Stream stream);
  bool on_heap(const void* memory, std::size_t bytes) const;
  /// Whether it lies within one allocation of a user of a group that has all these members, a bit for each rank, or
  /// within one adoption of such a group.
  bool is_allocated(const void* memory, std::size_t bytes, std::uint32_t members) const;

  /// Where symmetric memory lies, in words that every rank understands.
  struct Place {
    const Adoption* adoption;  ///< null: on the heap
    std::uint64_t offset;      ///< in one or the other
  };
  Place place_of(const void* memory) const;

  /// Waits for all launches, on whichever streams.
  void finish();
};

}  // namespace iris
