#include "iris/world.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "iris/device/abi.hpp"
#include "runtime/system/thread.hpp"
#include "runtime/world/bootstrap.hpp"
#include "runtime/world/context.hpp"

namespace iris {

namespace {

DeviceGroup open_devices(const WorldOptions& options) {
  if (options.size < 1 || options.size > device::max_world) {
    throw std::runtime_error("a world has 1 to " + std::to_string(device::max_world) + " ranks, not " +
                             std::to_string(options.size));
  }
  if (options.target == "host") return open_host_devices(options.size, options.seed, options.locate, options.watch);
  DeviceGroup group;
  try {
    group = open_hip_devices(options.size);
  } catch (const std::exception& error) {
    throw std::runtime_error("a world on " + options.target + " needs GPUs: " + error.what());
  }
  for (const auto& device : group.devices) {
    if (device->target() == options.target) continue;
    throw std::runtime_error("this machine's GPU " + std::to_string(device->index()) + " (" + device->description() +
                             ") is " + device->target() + ", not " + options.target);
  }
  return group;
}

}  // namespace

struct World::State {
  explicit State(const WorldOptions& options)
      : target(options.target), group(open_devices(options)), bootstrap(options.size, group.observer.get()) {
    for (const auto& device : group.devices) {
      device->bind();
      bases.push_back(static_cast<char*>(device->allocate(options.heap_bytes)));
    }
    for (int rank = 0; rank < options.size; ++rank) {
      Device& device = *group.devices[static_cast<std::size_t>(rank)];
      ranks.push_back(
          std::make_unique<Context::State>(rank, device, bases, options.heap_bytes, bootstrap,
                                           group.ranks_per_device[static_cast<std::size_t>(device.index())]));
    }
  }
  ~State() {
    for (std::size_t rank = 0; rank < bases.size(); ++rank) group.devices[rank]->release(bases[rank]);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void run_rank(int rank, const std::function<void(Context&)>& body);

  std::string target;
  DeviceGroup group;
  Bootstrap bootstrap;
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
  bootstrap.leave(rank, error);
}

World::World(const WorldOptions& options) : state_(std::make_shared<State>(options)) {
  for (const auto& rank : state_->ranks) rank->world = state_;
}

World::~World() = default;

int World::size() const {
  return static_cast<int>(state_->ranks.size());
}

const std::string& World::target() const {
  return state_->target;
}

void World::run(const std::function<void(Context&)>& body) {
  if (state_->running.exchange(true)) throw std::logic_error("World::run is called while it runs already");
  state_->bootstrap.begin();
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      try {
        threads.push_back(start_thread<std::jthread>("it", [&, rank] { state_->run_rank(rank, body); }));
      } catch (const std::runtime_error&) {  // no more threads: the others must not wait for this one
        state_->bootstrap.leave(rank, std::current_exception());
      }
    }
  }
  state_->running = false;
  if (const auto failure = state_->bootstrap.failure()) {
    throw std::runtime_error("rank " + std::to_string(failure->rank) + ": " + words_of(failure->error));
  }
}

}  // namespace iris
