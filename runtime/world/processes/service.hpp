#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "generator/manifest/descriptor.hpp"

namespace iris {

using Clock = std::chrono::steady_clock;

/// A thread that serves sockets behind the program's back: it takes none of the program's signals, and can be woken.
class Service {
 public:
  /// Runs `serve` on it. Throws std::runtime_error if no thread can be started.
  Service(const std::string& purpose, std::function<void()> serve);
  ~Service() { join(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void join();

 private:
  std::thread thread_;
};

/// Ends a poll() from another thread.
class Wake {
 public:
  Wake();
  int number() const { return event_.get(); }
  void wake() const;
  void clear() const;

 private:
  Descriptor event_;
};

/// How long ago others were heard of, by the own thread's passes: a process that was itself stopped for a while does
/// not blame the others.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds silence) : silence_(silence) {}

  /// Called at each pass, at least as often as `tick`.
  void pass();
  bool is_out(Clock::time_point last_heard) const { return now_ - std::max(last_heard, resumed_) > silence_; }
  Clock::time_point now() const { return now_; }

  static constexpr std::chrono::milliseconds tick{100};
  static constexpr std::chrono::milliseconds beat{500};

 private:
  std::chrono::milliseconds silence_;
  Clock::time_point now_ = Clock::now();
  Clock::time_point resumed_ = now_;
};

}  // namespace iris
