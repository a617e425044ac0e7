#include "runtime/system/log.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace iris {
namespace {

constexpr std::array names = {"debug", "info", "warning", "error", "off"};

void write_line(const LogMessage& message) {
  const std::string line = to_line(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // at once, so that lines of threads do not mix
}

/// Where messages go, behind one mutex.
struct Destination {
  std::mutex mutex;
  LogSink sink;
  bool has_own_level = false;                ///< the sink's
  std::optional<LogLevel> environment = {};  ///< once it has been asked
};

/// Outlives static objects, which may have something to say at their end.
Destination& destination() {
  static auto* const instance = new Destination;
  return *instance;
}

thread_local int own_rank = -1;
thread_local int own_world = 0;
thread_local bool is_in_sink = false;

/// Of IRIS_LOG. Asked once; what makes no sense is told once.
LogLevel level_of_environment() {
  const char* said = std::getenv("IRIS_LOG");
  if (said == nullptr || *said == '\0') return LogLevel::off;
  const auto* const name = std::ranges::find(names, std::string_view(said));
  if (name != names.end()) return static_cast<LogLevel>(name - names.begin());
  write_line({.level = LogLevel::warning,
              .text = "IRIS_LOG is '" + std::string(said) + "'; write debug, info, warning, error or off"});
  return LogLevel::off;
}

/// With the mutex held.
void settle_level(Destination& to) {
  if (to.has_own_level) return;
  if (!to.environment.has_value()) to.environment = level_of_environment();
  least_logged = *to.environment;
}

}  // namespace

constinit std::atomic<LogLevel> least_logged = LogLevel::debug;

std::string_view to_string(LogLevel level) {
  return names.at(static_cast<std::size_t>(level));
}

std::string to_line(const LogMessage& message) {
  std::string line = "[iris] ";
  if (message.rank >= 0) line += "[" + std::to_string(message.rank) + "/" + std::to_string(message.world) + "] ";
  return line + std::string(to_string(message.level)) + ": " + message.text;
}

void set_log_sink(LogSink sink, LogLevel least) {
  Destination& to = destination();
  const std::lock_guard lock(to.mutex);
  std::swap(to.sink, sink);  // the former ends with the lock behind it: it may have something to say
  to.has_own_level = to.sink != nullptr;
  if (to.has_own_level) least_logged = least;
  settle_level(to);
}

bool is_logged(LogLevel level) {
  if (is_in_sink) return false;
  Destination& to = destination();
  const std::lock_guard lock(to.mutex);
  settle_level(to);
  return level >= least_logged.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string text) {
  const LogMessage message{.level = level, .rank = own_rank, .world = own_world, .text = std::move(text)};
  Destination& to = destination();
  const std::lock_guard lock(to.mutex);
  if (level < least_logged.load(std::memory_order_relaxed)) return;  // the sink has changed
  if (to.sink == nullptr) return write_line(message);
  is_in_sink = true;
  try {
    to.sink(message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no work fails because nobody could be told of it
  }
  is_in_sink = false;
}

LogRank::LogRank(int rank, int world)
    : rank_before_(std::exchange(own_rank, rank)), world_before_(std::exchange(own_world, world)) {}

std::pair<int, int> LogRank::current() {
  return {own_rank, own_world};
}

LogRank::~LogRank() {
  own_rank = rank_before_;
  own_world = world_before_;
}

}  // namespace iris
