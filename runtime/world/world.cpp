#include "iris/world.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <utility>

#include "iris/device/abi.hpp"
#include "runtime/world/world_state.hpp"

namespace iris {

void check_world_size(int size) {
  if (size >= 1 && size <= device::max_world) return;
  throw std::runtime_error("a world has 1 to " + std::to_string(device::max_world) + " ranks, not " +
                           std::to_string(size));
}

void check_target(const Device& device, const std::string& target) {
  if (device.target() == target) return;
  throw std::runtime_error("this machine's GPU " + std::to_string(device.index()) + " (" + device.description() +
                           ") is " + device.target() + ", not " + target);
}

std::exception_ptr run_rank(Context::State& rank, const std::function<void(Context&)>& body) {
  try {
    rank.deferred = nullptr;
    rank.device.bind();
    Context context(rank);
    body(context);
    rank.finish();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

World::World(std::shared_ptr<State> state) : state_(std::move(state)) {
  for (const auto& rank : state_->ranks) rank->world = state_;
}

World::World(const WorldOptions& options) : World(make_thread_world(options)) {}

World::~World() = default;

int World::size() const {
  return state_->size;
}

const std::string& World::target() const {
  return state_->target;
}

void World::run(const std::function<void(Context&)>& body) {
  if (state_->running.exchange(true)) throw std::logic_error("World::run is called while it runs already");
  struct Running {
    std::atomic<bool>& flag;
    ~Running() { flag = false; }
  } const running{state_->running};
  state_->run(body);
}

}  // namespace iris
