#pragma once

#include <functional>
#include <string>
#include <string_view>

/// What the libraries say of what they do: nothing, unless the environment variable IRIS_LOG (debug, info, warning or
/// error; read at the first message) or the program asks for it. Then messages go to standard error, a line each, or to
/// the program's own sink.
namespace iris {

enum class LogLevel {
  debug,    ///< ranks that leave
  info,     ///< worlds, plans and the tuning behind them, compiling, loading: once for each
  warning,  ///< what the program may survive: a rank that is lost
  error,    ///< waits that ran out, ranks that failed
  off,
};
/// `info`.
std::string_view to_string(LogLevel level);

struct LogMessage {
  LogLevel level = LogLevel::info;
  int rank = -1;  ///< of the rank that says it; -1: none does
  int world = 0;  ///< ranks of its world
  std::string text = {};
};
/// "[iris] [2/8] info: …", without an end of line.
std::string to_line(const LogMessage& message);

/// Gives messages of this level and above to the sink, whatever IRIS_LOG says; an empty one brings back IRIS_LOG and
/// standard error. From any thread; returns once no call of the sink before is under way. The sink is called by one
/// thread at a time, whichever has something to say: it should be quick. What it throws is dropped, and so is what is
/// said while it runs on the same thread; it must not set a sink.
using LogSink = std::function<void(const LogMessage& message)>;
void set_log_sink(LogSink sink, LogLevel least = LogLevel::info);

}  // namespace iris
