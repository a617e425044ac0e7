#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"
#include "iris/device.hpp"
#include "iris/group.hpp"

namespace iris {

struct WorldOptions {
  int size = 1;                         ///< not asked where processes join: whoever started them says
  std::string target = "host";          ///< host, or any GPU target of this machine
  std::size_t heap_bytes = 256u << 20;  ///< of each rank, mapped from the start, or heap_limit if that is less
  /// To which each rank's heap grows as allocate() needs more. 0 stands for heap_bytes on GPUs, where others allocate,
  /// too; on the CPU for the machine's memory, but no more than 64 GiB, and for heap_bytes where addresses are limited
  /// (ulimit -v). Without virtual memory management (AMD before ROCm 7.2) no heap grows; where ranks are threads on
  /// AMD's GPUs, memory that grows is not cached.
  std::size_t heap_limit = 0;
  std::uint64_t seed = 0;       ///< of the host's order of execution
  SourceLocator locate = {};    ///< for the host's reports of deadlocks: source_locator(), say
  StoreWatch* watch = nullptr;  ///< on host; must outlive the World
};

class Context;

/// Ranks, each with a device and a symmetric heap: threads of this process, or processes of this host.
class World {
 public:
  /// Throws a sentence if the devices are not there or the size is not 1…16.
  explicit World(const WorldOptions& options);
  /// A world whose ranks are processes, of which this one is one: connect_processes() unless told otherwise. Collective
  /// over all of them; all must give the same target and heap sizes. run() then runs this process's rank alone, on the
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

  /// The rank that this process is, for programs which have no place for a body: a framework's operators, a server. It
  /// is there from the first call on, which is as if a run() began, until the World ends; that waits for this rank's
  /// work, not for other ranks, whose later calls with this one throw. One thread uses it at a time, with what it has
  /// made, after a call of this, which makes the rank's GPU current there. What its launches came to is thrown by its
  /// synchronize() alone. Throws std::logic_error where ranks are threads, and while run()
  /// runs; run() throws it once this has been called.
  Context& context();

  struct State;

 private:
  struct Made {};  // World({}) is one of WorldOptions
  World(Made made, std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // with the operations that were loaded
  std::unique_ptr<Context> context_;
};

/// One rank of a World, as its thread sees it: the group of all ranks, and what makes others.
class Context : public Group {
 public:
  /// A group of these ranks of the world, which are numbered within it in the order in which they stand here.
  /// Collective over them alone: each gives the same ranks in the same order. Throws std::runtime_error if one is out
  /// of range or given twice, if this rank is not among them, or in a world of processes whose Bootstrap cannot
  /// split().
  ///
  /// A rank may be in as many groups as it likes, and makes the calls of all of them in an order that suits the others:
  /// ranks that wait for one another in calls of different groups are told so.
  Group group(const std::vector<int>& ranks);
  /// Gives back memory at the heap's end that holds no allocation, in whole pieces as it has grown, but nothing of
  /// WorldOptions::heap_bytes. Nothing else does: a program that frees and allocates in turn maps nothing anew.
  /// Collective over all ranks: waits for this rank's work, then for every rank, and is a barrier(). Graphs that use
  /// what was freed must not be launched any more. Returns how many bytes this rank's heap has lost.
  std::size_t trim();

  struct State;
  explicit Context(State& state);
  Context(const Context&) = delete;

 private:
  State& state_of_rank_;
};

}  // namespace iris
