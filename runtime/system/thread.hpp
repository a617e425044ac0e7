#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace iris {

/// In words.
inline std::runtime_error cannot_start_thread(const std::string& purpose, const std::error_code& error) {
  return std::runtime_error("cannot start a thread for " + purpose + ": " + error.message() +
                            "; raise the limit of processes (ulimit -u) or of address space (ulimit -v)");
}

/// A std::thread or std::jthread that does `work`. Throws std::runtime_error, in words, where no thread can be started:
/// "cannot start a thread for rank 3: …".
template <typename Thread = std::thread, typename Work>
Thread start_thread(const std::string& purpose, Work&& work) {
  try {
    return Thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw cannot_start_thread(purpose, error.code());
  }
}

}  // namespace iris
