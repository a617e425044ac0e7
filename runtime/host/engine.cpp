#include "runtime/host/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/host/deadlock.hpp"
#include "runtime/system/thread.hpp"

namespace iris::host {

Engine::Engine(int ranks, std::uint64_t seed, SourceLocator locate, StoreWatch* watch)
    : locate_(std::move(locate)),
      scheduler_(seed, watch),
      ranks_(static_cast<std::size_t>(ranks)),
      process_(::getpid()),
      thread_(start_thread("the kernels of the CPU", [this] { serve(); })) {}

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
  stream.queue.push_back({.kind = StreamItem::Kind::launch, .grid = std::move(grid)});
}

void Engine::enqueue(HostStream& stream, const Copy& copy) {
  const std::lock_guard lock(mutex_);
  stream.queue.push_back({.kind = StreamItem::Kind::copy, .copy = copy});
}

void Engine::record(HostStream& stream, std::shared_ptr<HostEvent> event) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t recording = ++event->recorded;
  const bool has_come_to_it = stream.drained();
  stream.queue.push_back({.kind = StreamItem::Kind::record, .event = std::move(event), .recording = recording});
  if (has_come_to_it) start_next(stream);
}

void Engine::wait(HostStream& stream, std::shared_ptr<HostEvent> event) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t recording = event->recorded;
  stream.queue.push_back({.kind = StreamItem::Kind::wait, .event = std::move(event), .recording = recording});
}

void Engine::synchronize(HostStream& stream) {
  std::unique_lock lock(mutex_);
  RankActivity& rank = ranks_[static_cast<std::size_t>(stream.rank)];
  if (rank.error == nullptr && !stream.drained()) {
    if (::getpid() != process_) {
      throw std::runtime_error(
          "this World belongs to the process that fork() was called in; make one in the new process");
    }
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
  start_all();
  const auto start_successors = [this](const Grid& finished) {
    for (HostStream& stream : streams_) {
      if (stream.running == &finished) stream.running = nullptr;
    }
    start_all();
  };
  scheduler_.run(start_successors);
  scheduler_.locate_watched_store(locate_);
  if (!release_synchronizing()) {
    give_up();
    release_synchronizing();
  }
}

/// Until no stream gets further: one may wait for another's event.
void Engine::start_all() {
  bool progress = true;
  while (progress) {
    progress = false;
    for (HostStream& stream : streams_) progress = start_next(stream) || progress;
  }
}

/// Starts the stream's next launch, if none is under way, and does what stands before it. Whether anything was done.
bool Engine::start_next(HostStream& stream) {
  bool progress = false;
  while (stream.running == nullptr && !stream.queue.empty()) {
    const StreamItem& front = stream.queue.front();
    if (front.kind == StreamItem::Kind::wait && front.event->reached < front.recording) return progress;
    StreamItem next = std::move(stream.queue.front());
    stream.queue.pop_front();
    progress = true;
    if (next.kind == StreamItem::Kind::record) {
      next.event->reached = next.recording;
      next.event->time = std::chrono::steady_clock::now();
    } else if (next.kind == StreamItem::Kind::copy) {
      std::memcpy(next.copy.destination, next.copy.source, next.copy.bytes);
    } else if (next.kind == StreamItem::Kind::launch) {
      start(stream, std::move(next.grid));
    }
  }
  return progress;
}

void Engine::start(HostStream& stream, std::unique_ptr<Grid> grid) {
  const Grid* started = grid.get();
  try {
    scheduler_.start(std::move(grid));
    stream.running = started;
  } catch (const std::exception&) {
    fail(stream.rank, std::current_exception());
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
  const auto error =
      std::make_exception_ptr(std::runtime_error(describe_deadlock(scheduler_.grids(), ranks_, locate_)));
  for (HostStream& stream : streams_) {
    if (stream.running == nullptr) continue;
    stream.running = nullptr;
    fail(stream.rank, error);
  }
  // Streams that wait for one another in a circle run nothing either.
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].synchronizes != nullptr) fail(static_cast<int>(rank), error);
  }
  scheduler_.abandon();
}

}  // namespace iris::host
