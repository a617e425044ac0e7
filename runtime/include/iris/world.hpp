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

  struct State;
  explicit Context(State& state);
  Context(const Context&) = delete;

 private:
  State& state_of_rank_;
};

}  // namespace iris
