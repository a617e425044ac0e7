#include "iris/world.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <iris/device/abi.hpp>
#include "irisgen/diagnostic.hpp"
#include "runtime/world/context.hpp"
#include "runtime/world/rendezvous.hpp"

namespace iris {

namespace {

const irisgen::Target& target_named(const std::string& name) {
  if (const irisgen::Target* target = irisgen::find_target(name)) return *target;
  std::vector<std::string_view> names;
  for (const irisgen::Target& target : irisgen::targets()) names.push_back(target.name);
  throw std::runtime_error("unknown target '" + name + "'" + irisgen::suggestion(name, names));
}

DeviceGroup open_devices(const WorldOptions& options, const irisgen::Target& target) {
  if (options.size < 1 || options.size > device::max_world) {
    throw std::runtime_error("a world has 1 to " + std::to_string(device::max_world) + " ranks, not " +
                             std::to_string(options.size));
  }
  if (target.platform == irisgen::Platform::host) return open_host_devices(options.size, options.seed);
  DeviceGroup group = open_hip_devices(options.size);
  for (const auto& device : group.devices) {
    if (device->target().name == target.name) continue;
    throw std::runtime_error("this machine's GPU " + std::to_string(device->index()) + " (" + device->description() +
                             ") is " + std::string(device->target().name) + ", not " + options.target);
  }
  return group;
}

}  // namespace

struct World::State {
  State(const WorldOptions& options, const irisgen::Target& of_target)
      : target(of_target), group(open_devices(options, of_target)), rendezvous(options.size, group.observer.get()) {
    for (const auto& device : group.devices) {
      device->bind();
      bases.push_back(static_cast<char*>(device->allocate(options.heap_bytes)));
    }
    for (int rank = 0; rank < options.size; ++rank) {
      Device& device = *group.devices[static_cast<std::size_t>(rank)];
      ranks.push_back(
          std::make_unique<Context::State>(rank, device, bases, options.heap_bytes, rendezvous,
                                           group.ranks_per_device[static_cast<std::size_t>(device.index())]));
    }
  }
  ~State() {
    for (std::size_t rank = 0; rank < bases.size(); ++rank) group.devices[rank]->release(bases[rank]);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void run_rank(int rank, const std::function<void(Context&)>& body);

  const irisgen::Target& target;
  DeviceGroup group;
  Rendezvous rendezvous;
  std::vector<char*> bases;
  std::vector<std::unique_ptr<Context::State>> ranks;
  std::atomic<bool> running = false;
};

void World::State::run_rank(int rank, const std::function<void(Context&)>& body) {
  std::exception_ptr error;
  try {
    Context::State& state = *ranks[static_cast<std::size_t>(rank)];
    state.deferred = nullptr;
    state.device.bind();
    Context context(state);
    body(context);
    state.finish();
  } catch (...) {
    error = std::current_exception();
  }
  rendezvous.leave(rank, error);
}

World::World(const WorldOptions& options) : state_(std::make_unique<State>(options, target_named(options.target))) {}

World::~World() = default;

int World::size() const {
  return static_cast<int>(state_->ranks.size());
}

const irisgen::Target& World::target() const {
  return state_->target;
}

void World::run(const std::function<void(Context&)>& body) {
  if (state_->running.exchange(true)) throw std::logic_error("World::run is called while it runs already");
  state_->rendezvous.begin();
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      try {
        threads.emplace_back([&, rank] { state_->run_rank(rank, body); });
      } catch (const std::system_error&) {  // no more threads: the others must not wait for this one
        state_->rendezvous.leave(rank, std::current_exception());
      }
    }
  }
  state_->running = false;
  if (const auto failure = state_->rendezvous.failure()) {
    throw std::runtime_error("rank " + std::to_string(failure->rank) + ": " + words_of(failure->error));
  }
}

}  // namespace iris
