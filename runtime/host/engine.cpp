#include "runtime/host/engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/host/deadlock.hpp"

namespace iris::host {

Engine::Engine(int ranks, std::uint64_t seed)
    : scheduler_(seed), ranks_(static_cast<std::size_t>(ranks)), thread_([this] { serve(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

HostStream* Engine::create_stream(int rank) {
  const std::lock_guard lock(mutex_);
  // Kept in the order of ranks, since streams are served in the order of this list and ranks create theirs at any time.
  const auto behind = std::ranges::find_if(streams_, [&](const HostStream& other) { return other.rank > rank; });
  const auto stream = streams_.emplace(behind);
  stream->rank = rank;
  return &*stream;
}

void Engine::destroy_stream(HostStream* stream) noexcept {
  try {
    synchronize(*stream);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const HostStream& other) { return &other == stream; });
}

void Engine::enqueue(HostStream& stream, std::unique_ptr<Grid> grid) {
  const std::lock_guard lock(mutex_);
  stream.queue.emplace_back(std::move(grid));
}

void Engine::enqueue(HostStream& stream, std::shared_ptr<Event> event) {
  const std::lock_guard lock(mutex_);
  if (stream.drained()) {
    event->time = std::chrono::steady_clock::now();
  } else {
    stream.queue.emplace_back(std::move(event));
  }
}

void Engine::synchronize(HostStream& stream) {
  std::unique_lock lock(mutex_);
  RankActivity& rank = ranks_[static_cast<std::size_t>(stream.rank)];
  if (rank.error == nullptr && !stream.drained()) {
    const bool was_running = std::exchange(rank.running, false);
    rank.synchronizes = &stream;
    rank.doing = "waits in synchronize()";
    work_.notify_one();
    released_.wait(lock, [&] { return rank.synchronizes == nullptr; });
    // The engine has counted us as running since it let go of us; a thread outside World::run does not count.
    rank.running = was_running;
    if (!was_running) work_.notify_one();
  }
  if (rank.error != nullptr) std::rethrow_exception(std::exchange(rank.error, nullptr));
}

void Engine::resumed(int rank) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].running = true;
}

void Engine::parked(int rank, std::string doing) {
  {
    const std::lock_guard lock(mutex_);
    RankActivity& activity = ranks_[static_cast<std::size_t>(rank)];
    activity.running = false;
    activity.doing = std::move(doing);
  }
  work_.notify_one();
}

/// The engine's own thread. It holds the mutex while kernels run: every rank is waiting, so nobody misses it.
void Engine::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || has_work(); });
    if (stopping_) return;
    advance();
    released_.notify_all();
  }
}

bool Engine::has_work() const {
  return std::ranges::none_of(ranks_, &RankActivity::running) &&
         std::ranges::any_of(ranks_, [](const RankActivity& rank) { return rank.synchronizes != nullptr; });
}

void Engine::advance() {
  for (HostStream& stream : streams_) start_next(stream);
  const auto start_successor = [this](const Grid& finished) {
    for (HostStream& stream : streams_) {
      if (stream.running != &finished) continue;
      stream.running = nullptr;
      start_next(stream);
    }
  };
  scheduler_.run(start_successor);
  if (!release_synchronizing()) {
    give_up();
    release_synchronizing();
  }
}

/// Starts the stream's next launch, if none is under way, and takes the time stamps before it.
void Engine::start_next(HostStream& stream) {
  while (stream.running == nullptr && !stream.queue.empty()) {
    auto next = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (auto* event = std::get_if<std::shared_ptr<Event>>(&next)) {
      (*event)->time = std::chrono::steady_clock::now();
      continue;
    }
    auto& grid = std::get<std::unique_ptr<Grid>>(next);
    const Grid* started = grid.get();
    try {
      scheduler_.start(std::move(grid));
      stream.running = started;
    } catch (const std::exception&) {
      fail(stream.rank, std::current_exception());
    }
  }
}

/// The rank's launches are lost; its next synchronize() says why.
void Engine::fail(int rank, const std::exception_ptr& error) {
  for (HostStream& stream : streams_) {
    if (stream.rank == rank) stream.queue.clear();
  }
  std::exception_ptr& first = ranks_[static_cast<std::size_t>(rank)].error;
  if (first == nullptr) first = error;
}

/// Lets go of the ranks whose stream has drained or failed. False if there is none.
bool Engine::release_synchronizing() {
  bool any = false;
  for (RankActivity& rank : ranks_) {
    if (rank.synchronizes == nullptr || (rank.error == nullptr && !rank.synchronizes->drained())) continue;
    rank.synchronizes = nullptr;
    rank.running = true;
    any = true;
  }
  return any;
}

/// No thread can run and no rank can do anything about it.
void Engine::give_up() {
  const auto error = std::make_exception_ptr(std::runtime_error(describe_deadlock(scheduler_.grids(), ranks_)));
  for (HostStream& stream : streams_) {
    if (stream.running == nullptr) continue;
    stream.running = nullptr;
    fail(stream.rank, error);
  }
  scheduler_.abandon();
}

}  // namespace iris::host
