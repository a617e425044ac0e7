#include "runtime/host/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/host/crash.hpp"
#include "runtime/host/deadlock.hpp"
#include "runtime/system/signal_stack.hpp"
#include "runtime/system/thread.hpp"

namespace iris::host {

namespace {

/// How many switches among threads pass before the engine lets its callers in.
constexpr std::uint64_t switches_at_a_time = 10'000;

constexpr const char* deadlock_headline = "deadlock: no thread of any kernel can go on";

/// A flag is written as a whole, after what was copied before it: another process may be waiting for it.
void perform(const Copy& copy) {
  using Flag = device::u64;
  if (copy.bytes == sizeof(Flag) && reinterpret_cast<std::uintptr_t>(copy.destination) % alignof(Flag) == 0) {
    Flag value = 0;
    std::memcpy(&value, copy.source, sizeof value);
    __atomic_store_n(static_cast<Flag*>(copy.destination), value, __ATOMIC_RELEASE);
  } else {
    std::memcpy(copy.destination, copy.source, copy.bytes);
  }
}

}  // namespace

Engine::Engine(int ranks, std::uint64_t seed, SourceLocator locate, StoreWatch* watch)
    : Engine(ranks, seed, std::move(locate), watch, nullptr) {}

Engine::Engine(const HostProcess& process, std::uint64_t seed, SourceLocator locate)
    : Engine(process.size, seed, std::move(locate), nullptr, std::make_unique<Outside>(process)) {}

Engine::Engine(int ranks, std::uint64_t seed, SourceLocator locate, StoreWatch* watch, std::unique_ptr<Outside> outside)
    : locate_(std::move(locate)),
      outside_(std::move(outside)),
      scheduler_(seed, watch),
      ranks_(static_cast<std::size_t>(ranks)),
      process_(::getpid()),
      thread_(start_thread("the kernels of the CPU", [this] { serve(); })) {}

Engine::~Engine() {
  {
    const auto lock = enter();
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

HostStream* Engine::create_stream(int rank) {
  const auto lock = enter();
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
  const auto lock = enter();
  std::erase_if(streams_, [&](const HostStream& other) { return &other == stream; });
}

void Engine::enqueue(HostStream& stream, std::unique_ptr<Grid> grid) {
  const auto lock = enter();
  stream.queue.push_back({.kind = StreamItem::Kind::launch, .grid = std::move(grid)});
  added();
}

void Engine::enqueue(HostStream& stream, const Copy& copy) {
  const auto lock = enter();
  stream.queue.push_back({.kind = StreamItem::Kind::copy, .copy = copy});
  added();
}

void Engine::record(HostStream& stream, std::shared_ptr<HostEvent> event) {
  const auto lock = enter();
  const std::uint64_t recording = ++event->recorded;
  const bool has_come_to_it = stream.drained();
  stream.queue.push_back({.kind = StreamItem::Kind::record, .event = std::move(event), .recording = recording});
  if (has_come_to_it) start_next(stream);
  added();
}

void Engine::wait(HostStream& stream, std::shared_ptr<HostEvent> event) {
  const auto lock = enter();
  const std::uint64_t recording = event->recorded;
  stream.queue.push_back({.kind = StreamItem::Kind::wait, .event = std::move(event), .recording = recording});
  added();
}

void Engine::synchronize(HostStream& stream) {
  auto lock = enter();
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
  const auto lock = enter();
  ranks_[static_cast<std::size_t>(rank)].running = true;
}

void Engine::parked(int rank, std::string doing) {
  {
    const auto lock = enter();
    RankActivity& activity = ranks_[static_cast<std::size_t>(rank)];
    activity.running = false;
    activity.doing = std::move(doing);
  }
  work_.notify_one();
}

void Engine::share(const void* begin, std::size_t bytes) {
  const auto lock = enter();
  if (outside_ != nullptr) outside_->share(begin, bytes);
}

void Engine::unshare(const void* begin) noexcept {
  const auto lock = enter();
  if (outside_ != nullptr) outside_->unshare(begin);
}

/// For callers. The engine's thread, which holds the mutex while kernels run, lets them go first.
std::unique_lock<std::mutex> Engine::enter() {
  ++callers_;
  std::unique_lock lock(mutex_);
  --callers_;
  return lock;
}

void Engine::added() {
  if (outside_ == nullptr) return;
  has_new_ = true;
  work_.notify_one();
}

/// The engine's own thread. It holds the mutex while kernels run: where all ranks are of this process, every rank is
/// waiting then, so nobody misses it.
void Engine::serve() {
  // What the program's first thread had set is not the kernels': no rounding but to nearest, no flush of subnormals,
  // and of signals only those of a crash, since handlers of others would run on a fiber's stack.
  std::fesetenv(FE_DFL_ENV);
  admit_crash_signals_alone();
  const SignalStack for_crashes;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || has_work(); });
    if (stopping_) return;
    outside_ != nullptr ? advance_a_little() : advance();
    released_.notify_all();
    if (outside_ != nullptr) rest(lock);
  }
}

/// Gives callers, and where nothing goes on other processes, a chance.
void Engine::rest(std::unique_lock<std::mutex>& lock) {
  if (rests_) {
    work_.wait_for(lock, outside_->nap(), [this] { return stopping_ || has_new_; });
    return;
  }
  if (callers_ == 0) return;
  lock.unlock();
  while (callers_ != 0) std::this_thread::yield();
  lock.lock();
}

bool Engine::has_work() const {
  const bool any_synchronizes =
      std::ranges::any_of(ranks_, [](const RankActivity& rank) { return rank.synchronizes != nullptr; });
  if (outside_ != nullptr) return has_new_ || any_synchronizes || !scheduler_.grids().empty();
  return any_synchronizes && std::ranges::none_of(ranks_, &RankActivity::running);
}

void Engine::advance() {
  start_all();
  const Scheduler::Outcome outcome = scheduler_.run([this](const Grid& finished) { start_successors(finished); });
  scheduler_.locate_watched_store(locate_);
  if (outcome == Scheduler::Outcome::crashed) give_up(scheduler_.describe_crash(locate_));
  if (!release_synchronizing()) {
    give_up(describe_deadlock(deadlock_headline, scheduler_.grids(), ranks_, locate_));
    release_synchronizing();
  }
}

void Engine::advance_a_little() {
  const bool had_new = std::exchange(has_new_, false);
  const std::uint64_t before = scheduler_.progress();
  start_all();
  const Scheduler::Outcome outcome =
      scheduler_.run([this](const Grid& finished) { start_successors(finished); }, switches_at_a_time);
  if (outcome == Scheduler::Outcome::crashed) give_up(scheduler_.describe_crash(locate_));
  rests_ = !release_synchronizing() && !had_new && scheduler_.progress() == before;
  if (!rests_) {
    outside_->progressed();
    return;
  }
  // Streams that wait for one another in a circle run nothing.
  const std::string headline =
      outcome == Scheduler::Outcome::idle
          ? deadlock_headline
          : outside_->verdict(scheduler_.grids(), outcome == Scheduler::Outcome::stuck, scheduler_.polls_in_vain());
  if (headline.empty()) return;
  give_up(
      describe_deadlock(headline, scheduler_.grids(), {}, locate_));  // what other processes' threads do is not known
  release_synchronizing();
}

void Engine::start_successors(const Grid& finished) {
  for (HostStream& stream : streams_) {
    if (stream.running == &finished) stream.running = nullptr;
  }
  start_all();
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
      perform(next.copy);
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

/// No thread can run, or none shall, and no rank can do anything about it.
void Engine::give_up(const std::string& why) {
  const auto error = std::make_exception_ptr(std::runtime_error(why));
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
