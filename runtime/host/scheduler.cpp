#include "runtime/host/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/host/place_of_call.hpp"

namespace iris::host {

namespace {

/// Atomic accesses in a row, of all threads, that may change nothing before we call it polling in vain. One that
/// repeats the thread's last access counts for more: few kernels do that but to poll, while many read arrays.
constexpr std::uint64_t fruitless_limit = 20'000'000;
constexpr std::uint64_t repetition_weight = 10;

/// The engine's table carries no context of its own, so the thread in run() says whose it is.
thread_local Scheduler* current = nullptr;

bool reached(const device::u64* flag, device::u64 at_least) {
  return static_cast<device::i64>(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - at_least) >= 0;
}

device::u64 clock_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<device::u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

struct Scheduler::Calls {
  static DeviceThread& self() { return *current->running_; }
  /// The running thread, which has called the engine from there.
  static DeviceThread& self_at(const void* called_from) {
    self().called_from = called_from;
    return self();
  }

  static device::u32 thread_index() { return self().index; }
  static device::u32 block_index() { return self().block->index; }
  static void* shared(const void* key, device::u64 bytes, device::u64 alignment) {
    return self().block->shared.get(key, bytes, alignment);
  }
  static void sync_block() { current->sync(self_at(__builtin_return_address(0)), true); }
  static device::u32 sync_block_and(device::u32 predicate) {
    return current->sync(self_at(__builtin_return_address(0)), predicate != 0) ? 1 : 0;
  }
  static void before_atomic(const void*) { current->yield(self_at(__builtin_return_address(0))); }
  static void after_atomic(const void* address, device::u32 changed) {
    DeviceThread& thread = self();
    if (changed != 0) {
      thread.polled = nullptr;
      current->wake(address);
    } else {
      current->fruitless_ += thread.polled == address ? repetition_weight : 1;
      thread.polled = address;
    }
  }
  static device::u32 wait(const device::u64* flag, device::u64 at_least, device::i32 peer, device::Wait what) {
    current->wait(self_at(__builtin_return_address(0)), flag, at_least, peer, what);
    return 1;
  }
  static void on_store(const void* address, std::uint64_t bytes) {
    current->note_store(static_cast<const char*>(address), bytes, __builtin_return_address(0));
  }
};

const device::Engine& Scheduler::table() {
  static constexpr device::Engine engine{
      .thread_index = Calls::thread_index,
      .block_index = Calls::block_index,
      .shared = Calls::shared,
      .sync_block = Calls::sync_block,
      .sync_block_and = Calls::sync_block_and,
      .before_atomic = Calls::before_atomic,
      .after_atomic = Calls::after_atomic,
      .wait = Calls::wait,
      .nanoseconds = clock_nanoseconds,
  };
  return engine;
}

StoreHook Scheduler::store_hook() {
  return Calls::on_store;
}

Scheduler::Scheduler(std::uint64_t seed, StoreWatch* watch) : random_state_(seed), watch_(watch) {
  catch_crashes(&leave);
}

Scheduler::~Scheduler() {
  abandon();
}

void Scheduler::start(std::unique_ptr<Grid> grid) {
  const std::size_t count = grid->thread_count();
  if (live_threads_ + count > max_device_threads) {
    throw std::runtime_error(grid->name + ": rank " + std::to_string(grid->rank) + " launches " +
                             std::to_string(count) + " device threads while " + std::to_string(live_threads_) +
                             " are running; the CPU engine runs at most " + std::to_string(max_device_threads) +
                             " at a time, so lower blocks or threads");
  }
  stacks_.reserve(live_threads_ + count);
  live_threads_ += count;
  for (Block& block : grid->blocks) {
    for (DeviceThread& thread : grid->threads_of(block)) ready_.push_back(&thread);
  }
  grids_.push_back(std::move(grid));
}

Scheduler::Outcome Scheduler::run(const std::function<void(Grid&)>& finished, std::uint64_t switches) {
  current = this;
  switches_left_ = switches;
  if (switches == unlimited) fruitless_ = 0;
  while (!ready_.empty() || wake_satisfied()) {
    running_ = next_ready();
    main_.switch_to(*running_);
    bury();
    if (crashed_ != nullptr) break;
    retire_finished(finished);
    if (switches_left_ == 0) break;
    if (switches_left_ == unlimited && polls_in_vain()) {
      if (!wake_satisfied()) break;
      fruitless_ = 0;
    }
  }
  current = nullptr;
  if (crashed_ != nullptr) return Outcome::crashed;
  if (switches_left_ == 0 && !ready_.empty()) return Outcome::interrupted;
  return grids_.empty() ? Outcome::idle : Outcome::stuck;
}

/// From the handler of a thread's crash, on another stack than the thread's: nobody comes back to either. Returns if no
/// kernel was running.
void Scheduler::leave(const Crash& crash) {
  if (current == nullptr || current->running_ == nullptr) return;
  current->crash_ = crash;
  current->crashed_ = std::exchange(current->running_, nullptr);
  current->crashed_->leave_to(current->main_);
}

std::string Scheduler::describe_crash(const SourceLocator& locate) const {
  return host::describe_crash(crash_, *crashed_, locate);
}

void Scheduler::abandon() {
  for (const auto& grid : grids_) {
    for (Block& block : grid->blocks) {
      for (DeviceThread& thread : grid->threads_of(block)) {
        if (char* stack = thread.discard()) stacks_.give_back(stack);
      }
    }
  }
  ready_.clear();
  waiting_.clear();
  grids_.clear();
  finished_.clear();
  live_threads_ = 0;
  crashed_ = nullptr;
}

/// Splitmix64 (Steele, Lea, Flood 2014), scaled down by multiplication.
std::size_t Scheduler::random_below(std::size_t bound) {
  std::uint64_t bits = random_state_ += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>(((bits >> 32) * bound) >> 32);
}

/// The place in ready_ of the thread to run next. Any may be it, but one rank after another is held back, for times of
/// very different length: were all threads equally likely, no rank would ever fall behind by more than a few steps, and
/// a kernel that is wrong only then would look right.
std::size_t Scheduler::choose_ready() {
  constexpr std::size_t longest_hold = 14;  // as a power of two
  constexpr int attempts = 8;
  if (held_picks_ == 0) {
    held_rank_ = static_cast<int>(random_below(device::max_world));  // often a rank that is not there: none is held
    held_picks_ = std::size_t{1} << random_below(longest_hold + 1);
  }
  --held_picks_;
  std::size_t chosen = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    chosen = random_below(ready_.size());
    if (ready_[chosen]->block->grid->rank != held_rank_) break;
  }
  return chosen;
}

/// Takes one of the ready threads, with a stack; null if there is none.
DeviceThread* Scheduler::next_ready() {
  if (ready_.empty()) return nullptr;
  std::swap(ready_[choose_ready()], ready_.back());
  DeviceThread* next = ready_.back();
  ready_.pop_back();
  if (!next->has_stack()) next->prepare(stacks_.take(), StackPool::usable_bytes(), &thread_body);
  return next;
}

void Scheduler::make_ready(DeviceThread& thread) {
  thread.state = ThreadState::ready;
  ready_.push_back(&thread);
}

void Scheduler::thread_body(Fiber& fiber) {
  auto& self = static_cast<DeviceThread&>(fiber);
  current->bury();
  const Grid& grid = *self.block->grid;
  grid.entry(grid.arguments.pointers());
  current->end(self);
}

/// Runs any ready thread, or the loop in run() if there is none, until somebody picks `self` again.
void Scheduler::switch_away(DeviceThread& self) {
  running_ = next_ready();
  if (running_ == &self) return;
  self.switch_to(running_ != nullptr ? static_cast<Fiber&>(*running_) : main_);
  bury();
}

void Scheduler::end(DeviceThread& self) {
  self.state = ThreadState::ended;
  ++self.block->ended;
  --live_threads_;
  note_progress();
  departed_ = &self;
  Grid& grid = *self.block->grid;
  if (--grid.unfinished == 0) {
    finished_.push_back(&grid);
    running_ = nullptr;
  } else {
    running_ = next_ready();
  }
  self.leave_to(running_ != nullptr ? static_cast<Fiber&>(*running_) : main_);
}

void Scheduler::bury() {
  if (departed_ == nullptr) return;
  stacks_.give_back(departed_->discard());
  departed_ = nullptr;
}

void Scheduler::yield(DeviceThread& self) {
  if (switches_left_ != unlimited && switches_left_ != 0) --switches_left_;
  if (must_stop()) {
    ready_.push_back(&self);
    running_ = nullptr;
    self.switch_to(main_);
    bury();
  } else if (!ready_.empty()) {
    ready_.push_back(&self);
    switch_away(self);
  }
}

bool Scheduler::sync(DeviceThread& self, bool predicate) {
  Block& block = *self.block;
  self.polled = nullptr;
  block.all = block.all && predicate;
  if (block.at_sync.size() + 1 < static_cast<std::size_t>(block.grid->threads_per_block)) {
    self.state = ThreadState::at_sync;
    block.at_sync.push_back(&self);
    switch_away(self);
  } else {
    release_block(block);
    yield(self);
  }
  return block.outcome;
}

void Scheduler::release_block(Block& block) {
  block.outcome = std::exchange(block.all, true);
  for (DeviceThread* thread : block.at_sync) make_ready(*thread);
  block.at_sync.clear();
  note_progress();
}

void Scheduler::wait(DeviceThread& self, const device::u64* flag, device::u64 at_least, std::int32_t peer,
                     device::Wait what) {
  yield(self);
  while (!reached(flag, at_least)) {
    self.state = ThreadState::waiting;
    self.flag = flag;
    self.at_least = at_least;
    self.peer = self.block->grid->world_rank(peer);
    self.what = what;
    waiting_[flag].push_back(&self);
    switch_away(self);
  }
  self.polled = nullptr;
  note_progress();
}

void Scheduler::wake(const void* address) {
  note_progress();
  const auto found = waiting_.find(address);
  if (found == waiting_.end()) return;
  std::erase_if(found->second, [this](DeviceThread* thread) {
    if (!reached(thread->flag, thread->at_least)) return false;
    make_ready(*thread);
    return true;
  });
  if (found->second.empty()) waiting_.erase(found);
}

/// Looks at every waiting thread's flag: plain stores and wide atomics raise flags without telling wake(). In the order
/// of launches, not of addresses, which differ from run to run.
bool Scheduler::wake_satisfied() {
  bool any = false;
  for (const auto& grid : grids_) {
    for (Block& block : grid->blocks) {
      for (DeviceThread& thread : grid->threads_of(block)) {
        if (thread.state != ThreadState::waiting || !reached(thread.flag, thread.at_least)) continue;
        std::erase(waiting_[thread.flag], &thread);
        make_ready(thread);
        any = true;
      }
    }
  }
  return any;
}

void Scheduler::retire_finished(const std::function<void(Grid&)>& finished) {
  for (Grid* grid : std::exchange(finished_, {})) {
    const auto found = std::ranges::find(grids_, grid, &std::unique_ptr<Grid>::get);
    const std::unique_ptr<Grid> retired = std::move(*found);
    grids_.erase(found);
    finished(*retired);
  }
}

void Scheduler::note_store(const char* address, std::uint64_t bytes, const void* called_from) {
  if (watch_ == nullptr) return;
  const auto* const watched = static_cast<const char*>(watch_->memory);
  if (address >= watched + watch_->bytes || address + bytes <= watched) return;
  const Block& block = *running_->block;
  watch_->last = {
      .rank = block.grid->rank, .block = static_cast<int>(block.index), .thread = static_cast<int>(running_->index)};
  stored_from_ = called_from;
}

void Scheduler::locate_watched_store(const SourceLocator& locate) {
  if (stored_from_ == nullptr || !watch_->last) return;
  watch_->last->place = place_of_call(locate, std::exchange(stored_from_, nullptr));
}

bool Scheduler::polls_in_vain() const {
  return fruitless_ > fruitless_limit;
}

/// Whether the loop in run() has to look at what is going on.
bool Scheduler::must_stop() const {
  return switches_left_ == unlimited ? polls_in_vain() : switches_left_ == 0;
}

void Scheduler::note_progress() {
  fruitless_ = 0;
  ++progress_;
}

}  // namespace iris::host
