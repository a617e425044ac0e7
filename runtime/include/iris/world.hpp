#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"
#include "iris/device.hpp"

namespace iris {

struct WorldOptions {
  int size = 1;                         ///< not asked where processes join: whoever started them says
  std::string target = "host";          ///< host, or any GPU target of this machine
  std::size_t heap_bytes = 256u << 20;  ///< of each rank
  std::uint64_t seed = 0;               ///< of the host's order of execution
  SourceLocator locate = {};            ///< for the host's reports of deadlocks: source_locator(), say
  StoreWatch* watch = nullptr;          ///< on host; must outlive the World
};

class Context;

/// Ranks, each with a device and a symmetric heap: threads of this process, or processes of this host.
class World {
 public:
  /// Throws a sentence if the devices are not there or the size is not 1…16.
  explicit World(const WorldOptions& options);
  /// A world whose ranks are processes, of which this one is one: connect_processes() unless told otherwise. Collective
  /// over all of them; all must give the same target and heap size. run() then runs this process's rank alone, on the
  /// calling thread, and is collective as well: it returns when the bodies of all ranks are over. What kernels on
  /// `host` meet depends on the other processes, too, not on the seed alone.
  static World join(const WorldOptions& options = {}, std::shared_ptr<Bootstrap> bootstrap = nullptr);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const;
  const std::string& target() const;

  /// Runs `body` once per rank, each on a thread of its own, and waits for all. If ranks throw, the others' collective
  /// calls throw too (nobody hangs) and the first error is rethrown here, naming its rank.
  void run(const std::function<void(Context&)>& body);

  struct State;

 private:
  explicit World(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // with the operations that were loaded
};

/// One rank of a World, as its thread sees it.
class Context {
 public:
  int rank() const;
  int num_ranks() const;
  Device& device();

  /// Bytes on the symmetric heap, 256-byte aligned, not cleared. Collective: every rank asks for the same size in the
  /// same order, or every rank throws a sentence that tells who asked for what. Throws when the heap is full.
  void* allocate(std::size_t bytes);
  /// Local, of what allocate() returned; the memory is reused once every rank has freed it and allocates again. Order
  /// must agree over ranks.
  void free(void* memory);
  /// Makes memory symmetric that somebody else allocated, [memory, memory + bytes) of each rank: operations take
  /// buffers that lie in it, at the same offset on every rank, as they take those on the heap, and is_symmetric() and
  /// on_rank() know it. Content and owner stay as they were. It must outlive its adoption, which ends with
  /// release_symmetric(), or with the World.
  ///
  /// Collective: every rank gives memory of its own, of the same size. Throws in words, on every rank alike, where one
  /// gives none, or what overlaps the heap or something adopted already, or what others cannot address:
  /// - on a GPU it is what the GPU's library allocated (cudaMalloc or hipMalloc, virtual memory management), and so
  ///   what caching allocators give out; where ranks are processes, virtual memory must have been created so that it
  ///   can be exported as a file. No pool's (cudaMallocAsync).
  /// - on the CPU it is anything among threads; where ranks are processes it is whole pages, as of
  ///   std::aligned_alloc(4096, …), which nobody else uses while they are adopted or released.
  void as_symmetric(void* memory, std::size_t bytes);
  /// Ends the adoption of what begins at `memory`. Collective: waits for this rank's work, then for every rank. Whoever
  /// launches graphs on it waits for them before, and launches them no more.
  void release_symmetric(void* memory);
  /// Whether [memory, memory + bytes) lies on this rank's heap, or in memory that it has adopted as one range. False
  /// for an empty range outside.
  bool is_symmetric(const void* memory, std::size_t bytes) const;
  /// The same object of another rank, as addressable from here. Throws if `memory` is not symmetric.
  void* on_rank(void* memory, int rank) const;
  std::span<char* const> heap_bases() const;

  /// Waits for this rank's work in the stream; throws the sentence of a wait that ran out of time, or of a deadlock.
  void synchronize(Stream stream = nullptr);
  /// synchronize(), then waits for every rank to arrive.
  void barrier();

  struct State;
  explicit Context(State& state) : state_(state) {}
  Context(const Context&) = delete;

  State& state() { return state_; }

 private:
  State& state_;
};

}  // namespace iris
