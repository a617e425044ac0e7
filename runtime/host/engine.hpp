#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "iris/device.hpp"
#include "runtime/host/grid.hpp"
#include "runtime/host/outside.hpp"
#include "runtime/host/scheduler.hpp"

namespace iris::host {

/// A point in a stream, recorded anew as often as one likes.
struct HostEvent {
  std::uint64_t recorded = 0;                  ///< recordings that were enqueued
  std::uint64_t reached = 0;                   ///< those that their stream has come to
  std::chrono::steady_clock::time_point time;  ///< of the last one reached
};

struct Copy {
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t bytes = 0;
};

/// What stands in a stream: a launch, a copy, a recording of an event (counted from 1), or a wait for one.
struct StreamItem {
  enum class Kind { launch, copy, record, wait };
  Kind kind = Kind::launch;
  std::unique_ptr<Grid> grid = nullptr;
  Copy copy = {};
  std::shared_ptr<HostEvent> event = nullptr;
  std::uint64_t recording = 0;
};

/// An in-order queue of one rank.
struct HostStream {
  int rank = 0;
  std::deque<StreamItem> queue;
  const Grid* running = nullptr;  ///< its launch under way
  bool drained() const { return queue.empty() && running == nullptr; }
};

/// What a rank's own thread is doing, as far as the engine needs to know.
struct RankActivity {
  bool running = false;
  std::string doing = "has not begun";  ///< completes "rank 2 …" where it is not running
  const HostStream* synchronizes = nullptr;
  std::exception_ptr error;  ///< thrown from the rank's next synchronize()
};

/// Runs the launches of all ranks of a World on one thread of its own. It works only while every rank's thread is
/// inside synchronize(), waits for other ranks, or has ended; and then until nothing can run any more. So which
/// launches meet, and in which state, follows from the ranks' programs alone.
///
/// Where other ranks are processes, it works whenever there are launches, as a GPU does, and lets others have the CPU
/// when none of its threads gets further.
class Engine final : public RankObserver {
 public:
  Engine(int ranks, std::uint64_t seed, SourceLocator locate = {}, StoreWatch* watch = nullptr);
  /// Of one rank in a world of processes.
  Engine(const HostProcess& process, std::uint64_t seed, SourceLocator locate = {});
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  HostStream* create_stream(int rank);
  /// Waits for its work first.
  void destroy_stream(HostStream* stream) noexcept;

  void enqueue(HostStream& stream, std::unique_ptr<Grid> grid);
  void enqueue(HostStream& stream, const Copy& copy);
  void record(HostStream& stream, std::shared_ptr<HostEvent> event);
  /// For the event's last recording; an event that was never recorded holds nothing up.
  void wait(HostStream& stream, std::shared_ptr<HostEvent> event);

  /// Waits until the stream has nothing left. Throws the report of a deadlock, if this rank's launches were part of it,
  /// and in a process that fork() has made, where nothing would ever run.
  void synchronize(HostStream& stream);

  /// Memory that other processes may change; only where there are any.
  void share(const void* begin, std::size_t bytes);
  void unshare(const void* begin) noexcept;

  void resumed(int rank) override;
  void parked(int rank, std::string doing) override;

 private:
  Engine(int ranks, std::uint64_t seed, SourceLocator locate, StoreWatch* watch, std::unique_ptr<Outside> outside);

  std::unique_lock<std::mutex> enter();
  void added();
  void serve();
  void rest(std::unique_lock<std::mutex>& lock);
  bool has_work() const;
  void advance();
  void advance_a_little();
  void start_successors(const Grid& finished);
  void start_all();
  bool start_next(HostStream& stream);
  void start(HostStream& stream, std::unique_ptr<Grid> grid);
  void fail(int rank, const std::exception_ptr& error);
  bool release_synchronizing();
  void give_up(const std::string& why);

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable released_;
  std::atomic<int> callers_ = 0;  ///< that want the mutex
  bool stopping_ = false;
  SourceLocator locate_;
  std::unique_ptr<Outside> outside_;  ///< null where all ranks are of this process
  bool has_new_ = false;              ///< since the engine last looked into the streams
  bool rests_ = false;                ///< nothing goes on for now
  Scheduler scheduler_;
  std::vector<RankActivity> ranks_;
  pid_t process_;
  std::list<HostStream> streams_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace iris::host
