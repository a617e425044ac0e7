#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/system/log.hpp"
#include "runtime/system/thread.hpp"
#include "runtime/world/rounds.hpp"
#include "runtime/world/world_state.hpp"

namespace iris {

namespace {

DeviceGroup open_devices(const WorldOptions& options) {
  check_world_size(options.size);
  if (options.target == "host") return open_host_devices(options.size, options.seed, options.locate, options.watch);
  DeviceGroup group;
  try {
    group = open_hip_devices(options.size);
  } catch (const std::exception& error) {
    throw std::runtime_error("a world on " + options.target + " needs GPUs: " + error.what());
  }
  for (const auto& device : group.devices) check_target(*device, options.target);
  return group;
}

/// All ranks are threads of this process.
struct ThreadWorld final : World::State {
  explicit ThreadWorld(const WorldOptions& options)
      : group(open_devices(options)), rounds(options.size, group.observer.get()) {
    target = options.target;
    size = options.size;
    std::vector<int> devices;
    devices.reserve(group.devices.size());
    for (const auto& device : group.devices) devices.push_back(device->index());
    const HeapSizes sizes = heap_sizes(options, group.devices.front()->growth());
    for (int rank = 0; rank < size; ++rank) {
      Device& device = *group.devices[static_cast<std::size_t>(rank)];
      device.bind();
      heaps.push_back(std::make_unique<HeapMemory>(device, sizes, rank, size, devices));
      heaps.back()->map_first();
      bases.push_back(heaps.back()->begin_of(rank));
    }
    for (int rank = 0; rank < size; ++rank) {
      Device& device = *group.devices[static_cast<std::size_t>(rank)];
      ranks.push_back(std::make_unique<Context::State>(
          rank, device, bases, *heaps[static_cast<std::size_t>(rank)],
          std::make_unique<ThreadCollectives>(rounds, rounds.of_all(), rounds.of_all()->ranks, rank),
          group.ranks_per_device[static_cast<std::size_t>(device.index())]));
    }
    log(LogLevel::info, [&] {
      std::string words = describe_world(*this, sizes) + " as threads of this process";
      for (const auto& device : group.devices) words += "; " + describe_device(*device);
      return words;
    });
  }
  void run(const std::function<void(Context&)>& body) override;

  DeviceGroup group;
  Rounds rounds;
  std::vector<std::unique_ptr<HeapMemory>> heaps;  // by rank
  std::vector<char*> bases;
};

void ThreadWorld::run(const std::function<void(Context&)>& body) {
  rounds.begin();
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      try {
        threads.push_back(start_thread<std::jthread>(
            "it", [&, rank] { rounds.leave(rank, run_rank(*ranks[static_cast<std::size_t>(rank)], body)); }));
      } catch (const std::runtime_error&) {  // no more threads: the others must not wait for this one
        rounds.leave(rank, std::current_exception());
      }
    }
  }
  if (const auto failure = rounds.failure()) {
    throw std::runtime_error("rank " + std::to_string(failure->rank) + ": " + words_of(failure->error));
  }
}

}  // namespace

std::shared_ptr<World::State> make_thread_world(const WorldOptions& options) {
  return std::make_shared<ThreadWorld>(options);
}

}  // namespace iris
