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

std::string describe_world(const World::State& world, const HeapSizes& sizes) {
  return "a world of " + std::to_string(world.size) + (world.size == 1 ? " rank on " : " ranks on ") + world.target +
         ", heaps of " + std::to_string(sizes.first) + " bytes" +
         (sizes.limit > sizes.first ? " that grow to " + std::to_string(sizes.limit) : "");
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
    if (const std::exception_ptr left = std::exchange(rank.deferred, nullptr)) {
      log(LogLevel::error, [&] { return "what ended after the last World::run had failed: " + words_of(left); });
    }
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

World::World(Made, std::shared_ptr<State> state) : state_(std::move(state)) {
  for (const auto& rank : state_->ranks) rank->world = state_;
}

World::World(const WorldOptions& options) : World(Made(), make_thread_world(options)) {}

World::~World() {
  if (context_ == nullptr) return;
  Context::State& rank = *state_->ranks.front();
  const LogRank log_rank(rank.rank, size());
  try {
    rank.device.bind();
    rank.finish();
  } catch (const std::exception& error) {
    log(LogLevel::error, [&] { return std::string("the rank ends with work that failed: ") + error.what(); });
  }
  context_.reset();  // which keeps the state
  try {
    state_->depart();
  } catch (const std::exception& error) {
    log(LogLevel::error,
        [&] { return std::string("the other ranks cannot be told of this one's end: ") + error.what(); });
  }
}

Context::State& World::State::enter() {
  throw std::logic_error("World::context() is for ranks that are processes; those of this world are threads: run()");
}

int World::size() const {
  return state_->size;
}

const std::string& World::target() const {
  return state_->target;
}

namespace {

/// A world has one body at a time.
class Running {
 public:
  Running(std::atomic<bool>& flag, const std::string& call) : flag_(&flag) {
    if (flag.exchange(true))
      throw std::logic_error(call + " is called while World::run runs, or World::context() is used");
  }
  ~Running() {
    if (flag_ != nullptr) *flag_ = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void stay() { flag_ = nullptr; }

 private:
  std::atomic<bool>* flag_;
};

}  // namespace

void World::run(const std::function<void(Context&)>& body) {
  const Running running(state_->running, "World::run");
  state_->run(body);
}

Context& World::context() {
  if (context_ == nullptr) {
    Running running(state_->running, "World::context()");
    context_ = std::make_unique<Context>(state_->enter());
    running.stay();
  }
  state_->ranks.front()->device.bind();
  return *context_;
}

}  // namespace iris
