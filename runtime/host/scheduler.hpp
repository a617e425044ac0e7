#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "iris/device/platform/host_abi.hpp"
#include "runtime/host/crash.hpp"
#include "runtime/host/grid.hpp"
#include "runtime/host/stack_pool.hpp"
#include "runtime/system/store_hook.hpp"

namespace iris::host {

/// Device threads that can exist at one time, of all launches of all ranks. Bounds memory: each takes 64 KiB of address
/// space and a few KiB of memory.
inline constexpr std::size_t max_device_threads = 262144;

/// Runs the device threads of all grids as fibers on the calling thread. Whenever a thread touches something that
/// another could see (an atomic, a flag, a block sync), any thread that can run may come next, picked by a seeded
/// generator: the same seed and the same launches give the same order, on every machine.
class Scheduler {
 public:
  enum class Outcome {
    idle,         ///< no grid is left
    stuck,        ///< every thread that is left waits, or polls what nobody changes
    interrupted,  ///< the switches are used up
    crashed,      ///< a thread did what the CPU would not do; nothing but abandon() is left
  };

  explicit Scheduler(std::uint64_t seed, StoreWatch* watch = nullptr);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// All of its threads become ready. Throws std::runtime_error if there would be too many, or no memory for them.
  void start(std::unique_ptr<Grid> grid);

  /// Runs until nothing can run. `finished` is told of each grid whose last thread ended, just before it is destroyed,
  /// and may start others.
  Outcome run(const std::function<void(Grid&)>& finished) { return run(finished, unlimited); }
  /// The same, for so many switches among threads at most. Threads that poll in vain run on: somebody outside may
  /// change what they poll.
  Outcome run(const std::function<void(Grid&)>& finished, std::uint64_t switches);

  /// Counts whatever may have brought threads closer to their end.
  std::uint64_t progress() const { return progress_; }
  /// Whether threads have long repeated themselves, and nothing has changed.
  bool polls_in_vain() const;

  /// What ended the last run() with Outcome::crashed, in words. Its library must still be loaded.
  std::string describe_crash(const SourceLocator& locate) const;

  /// Gives up all grids; their threads are never resumed.
  void abandon();

  /// Says of the watched memory's last store where it is in the source. Its library must still be loaded.
  void locate_watched_store(const SourceLocator& locate);

  const std::vector<std::unique_ptr<Grid>>& grids() const { return grids_; }

  /// The functions that kernels call; valid on whichever thread is in run().
  static const device::Engine& table();
  static StoreHook store_hook();

 private:
  struct Calls;  // what the table's entries do, on behalf of the running thread

  static void thread_body(Fiber& fiber);
  static void leave(const Crash& crash);

  std::size_t random_below(std::size_t bound);
  std::size_t choose_ready();
  DeviceThread* next_ready();
  void make_ready(DeviceThread& thread);
  void switch_away(DeviceThread& self);
  void end(DeviceThread& self);
  void bury();
  void yield(DeviceThread& self);
  bool sync(DeviceThread& self, bool predicate);
  void release_block(Block& block);
  void wait(DeviceThread& self, const device::u64* flag, device::u64 at_least, std::int32_t peer, device::Wait what);
  void wake(const void* address);
  bool wake_satisfied();
  void retire_finished(const std::function<void(Grid&)>& finished);
  void note_store(const char* address, std::uint64_t bytes, const void* called_from);
  bool must_stop() const;
  void note_progress();

  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

  StackPool stacks_;
  std::size_t live_threads_ = 0;
  std::uint64_t random_state_;
  int held_rank_ = -1;          // is hardly ever chosen, as if its GPU were slow
  std::size_t held_picks_ = 0;  // for how many choices more
  std::vector<std::unique_ptr<Grid>> grids_;
  std::vector<DeviceThread*> ready_;
  std::unordered_map<const void*, std::vector<DeviceThread*>> waiting_;
  std::vector<Grid*> finished_;
  DeviceThread* running_ = nullptr;
  DeviceThread* departed_ = nullptr;  // ended; its stack is recycled by whoever runs next
  std::uint64_t fruitless_ = 0;       // weighted atomic accesses since anything last changed
  std::uint64_t progress_ = 0;
  std::uint64_t switches_left_ = unlimited;
  Fiber main_;
  DeviceThread* crashed_ = nullptr;
  Crash crash_;
  StoreWatch* watch_;
  const void* stored_from_ = nullptr;  // the watched store whose place is still to be told
};

}  // namespace iris::host
