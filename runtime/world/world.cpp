#include "iris/world.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <utility>

#include "iris/device/abi.hpp"
#include "runtime/system/log.hpp"
#include "runtime/world/world_state.hpp"

namespace iris {

void check_world_size(int size) {
  if (size >= 1 && size <= device::max_world) return;
  throw std::runtime_error("a world has 1 to " + std::to_string(device::max_world) + " ranks, not " +
                           std::to_string(size));
}

std::string describe_world(const World::State& world, std::size_t heap_bytes) {
  return "a world of " + std::to_string(world.size) + (world.size == 1 ? " rank on " : " ranks on ") + world.target +
         ", heaps of " + std::to_string(heap_bytes) + " bytes";
}

std::string describe_device(const Device& device) {
  return device.description() + " (" + device.address() + ")";
}

void check_target(const Device& device, const std::string& target) {
  if (device.target() == target) return;
  throw std::runtime_error("this machine's GPU " + std::to_string(device.index()) + " (" + device.description() +
                           ") is " + device.target() + ", not " + target);
}

std::exception_ptr run_rank(Context::State& rank, const std::function<void(Context&)>& body) {
  const LogRank log_rank(rank.rank, static_cast<int>(rank.bases.size()));
  try {
    rank.deferred = nullptr;
    rank.device.bind();
    Context context(rank);
    body(context);
    rank.finish();
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    log(LogLevel::error, [&] { return "the rank has failed: " + words_of(error); });
    return error;
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
