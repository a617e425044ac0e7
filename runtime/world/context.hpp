#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iris/device/abi.hpp"
#include "iris/world.hpp"
#include "runtime/world/adopted_memory.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/heap.hpp"
#include "runtime/world/heap_memory.hpp"

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

/// A kernel of a rank that belongs to no operation: one that fills tensors.
struct OwnKernel {
  std::string symbol;
  std::unique_ptr<Module> module;
  const Function* function;
  int blocks;
  int threads;
};

/// A rank's part of a World, which its groups refer to; outlives World::run. Used by the rank's own thread only.
/// Nothing in it assumes that the other ranks are of this process, but for where their heaps begin as addressed from
/// here.
struct Context::State {
  State(int of_rank, Device& of_device, const std::vector<char*>& heap_bases, HeapMemory& heap_memory,
        std::unique_ptr<WorldCollectives> with_others, int ranks_on_this_device);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int rank;
  Device& device;
  const std::vector<char*>& bases;
  HeapMemory& memory;  ///< under the heap
  Heap heap;           ///< of all that there may be
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
  std::map<std::string, OwnKernel> kernels;  ///< by what whoever loaded them calls them
  std::set<Stream> filling;                  ///< streams in which `kernels` run that nobody has waited for yet

  /// Throws what is deferred, or does what wait() does.
  void synchronize(Stream stream);
  /// Waits for the stream's work whatever is deferred. Throws what launches failed in.
  void wait(Stream stream);
  /// The same of all launches and fills, in whichever streams, and of those after one that fails as well. What the
  /// first one throws that does; null if none does.
  std::exception_ptr wait_for_all();
  /// Waits for all, then throws what was deferred, or what failed first.
  void finish();
  /// Keeps what `step` throws for the next synchronize(), if there is nothing yet. For destructors.
  template <typename Step>
  void defer_failure(const Step& step) {
    try {
      step();
    } catch (const std::exception&) {
      if (deferred == nullptr) deferred = std::current_exception();
    }
  }
  /// On what is mapped of it.
  bool on_heap(const void* place, std::size_t bytes) const;
  /// Whether it lies within one allocation of a user of a group that has all these members, a bit for each rank, or
  /// within one adoption of such a group.
  bool is_allocated(const void* place, std::size_t bytes, std::uint32_t members) const;

  /// Where symmetric memory lies, in words that every rank understands.
  struct Place {
    const Adoption* adoption;  ///< null: on the heap
    std::uint64_t offset;      ///< in one or the other
  };
  Place place_of(const void* symmetric) const;
};

}  // namespace iris
