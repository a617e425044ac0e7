#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "iris/world.hpp"
#include "runtime/world/context.hpp"

namespace iris {

/// What stands behind a World: ranks that are threads (thread_world.cpp) or processes (process_world.cpp).
struct World::State {
  State() = default;
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// As World::run, which never calls it while it runs.
  virtual void run(const std::function<void(Context&)>& body) = 0;
  /// As run(), of which the end is depart(). The base class throws: threads have no rank of the process.
  virtual Context::State& enter();
  /// Does not wait for other ranks.
  virtual void depart() {}

  std::string target;
  int size = 0;
  std::atomic<bool> running = false;
  std::vector<std::unique_ptr<Context::State>> ranks;  ///< those of this process
};

/// "a world of 4 ranks on host, heaps of 1048576 bytes that grow to 4194304", for messages.
std::string describe_world(const World::State& world, const HeapSizes& sizes);
/// "NVIDIA H200 (0000:1a:00.0)".
std::string describe_device(const Device& device);

/// Throws unless a World can have so many ranks.
void check_world_size(int size);

/// Throws unless the device is of the target that the world is for.
void check_target(const Device& device, const std::string& target);

std::shared_ptr<World::State> make_thread_world(const WorldOptions& options);

/// Runs the body on one rank. What it throws, or what its launches came to, is returned.
std::exception_ptr run_rank(Context::State& rank, const std::function<void(Context&)>& body);

}  // namespace iris
