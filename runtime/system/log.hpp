#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "iris/log.hpp"

namespace iris {

/// Below this nothing is said. At first everything goes on to write_log(), which then asks the environment.
extern std::atomic<LogLevel> least_logged;

/// Whether such messages are wanted.
bool is_logged(LogLevel level);
void write_log(LogLevel level, std::string text);

/// Says what `words()` returns, which is called only if somebody listens: else a message costs one comparison.
template <typename Words>
void log(LogLevel level, const Words& words) {
  if (level < least_logged.load(std::memory_order_relaxed)) return;
  if (is_logged(level)) write_log(level, words());
}

/// While it lives, this thread's messages are that rank's.
class LogRank {
 public:
  LogRank(int rank, int world);
  /// That of another thread, which has given what it is by current().
  explicit LogRank(std::pair<int, int> of_thread) : LogRank(of_thread.first, of_thread.second) {}
  static std::pair<int, int> current();
  ~LogRank();
  LogRank(const LogRank&) = delete;
  LogRank& operator=(const LogRank&) = delete;

 private:
  int rank_before_;
  int world_before_;
};

}  // namespace iris
