#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace iris {

/// While one exists, the process's handlers of fatal signals are ours; a crash outside Containment::run still ends the
/// process as it would have. Counted, thread-safe. Libraries that set handlers of their own do so inside it, so that
/// they are put back in the reverse order.
class SignalHandlers {
 public:
  SignalHandlers();
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
};

/// Calls into a library that may crash, and remembers if it did: its locks and data cannot be trusted afterwards.
class Containment {
 public:
  /// `library` is its name, for messages.
  explicit Containment(std::string library) : library_(std::move(library)) {}

  /// Runs `work`, the compilation of `name`, on a thread of its own with a deep stack. Passes on what it throws. Throws
  /// CompileError where it ends in a signal (stack overflow and abort among them), and at every call after that.
  /// Thread-safe.
  void run(const std::string& name, const std::function<void()>& work) const;

 private:
  std::string library_;
  mutable std::atomic<bool> crashed_ = false;
};

}  // namespace iris
