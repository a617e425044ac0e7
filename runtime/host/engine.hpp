#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "iris/device.hpp"
#include "runtime/host/grid.hpp"
#include "runtime/host/scheduler.hpp"

namespace iris::host {

/// A time stamp that a stream takes when it comes to it.
struct Event {
  std::chrono::steady_clock::time_point time;
};

/// An in-order queue of one rank.
struct HostStream {
  int rank = 0;
  std::deque<std::variant<std::unique_ptr<Grid>, std::shared_ptr<Event>>> queue;
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
class Engine final : public RankObserver {
 public:
  Engine(int ranks, std::uint64_t seed);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  HostStream* create_stream(int rank);
  /// Waits for its work first.
  void destroy_stream(HostStream* stream) noexcept;

  void enqueue(HostStream& stream, std::unique_ptr<Grid> grid);
  void enqueue(HostStream& stream, std::shared_ptr<Event> event);

  /// Waits until the stream has nothing left. Throws the report of a deadlock, if this rank's launches were part of it.
  void synchronize(HostStream& stream);

  void resumed(int rank) override;
  void parked(int rank, std::string doing) override;

 private:
  void serve();
  bool has_work() const;
  void advance();
  void start_next(HostStream& stream);
  void fail(int rank, const std::exception_ptr& error);
  bool release_synchronizing();
  void give_up();

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable released_;
  bool stopping_ = false;
  Scheduler scheduler_;
  std::vector<RankActivity> ranks_;
  std::list<HostStream> streams_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace iris::host
