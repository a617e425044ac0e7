#include "runtime/jit/compilers/containment.hpp"

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>

#include "iris/compiler.hpp"
#include "runtime/system/deep_stack.hpp"
#include "runtime/system/signal_stack.hpp"

namespace iris {
namespace {

constexpr std::array<int, 6> fatal_signals = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};

/// Where a thread goes on after a crash.
struct Recovery {
  sigjmp_buf place;
  volatile int signal = 0;
};
thread_local Recovery* recovery = nullptr;

struct Installed {
  std::mutex mutex;
  int count = 0;
  std::array<struct sigaction, fatal_signals.size()> previous = {};
};

Installed& installed() {
  static Installed instance;
  return instance;
}

void on_fatal_signal(int signal) {
  if (Recovery* here = recovery) {
    recovery = nullptr;
    here->signal = signal;
    siglongjmp(here->place, 1);
  }
  // Not ours: let it happen again, this time for whoever was there before.
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
    if (fatal_signals[i] == signal) sigaction(signal, &installed().previous[i], nullptr);
  }
  raise(signal);
}

/// One call of Containment::run, on its thread.
struct Call {
  const std::function<void()>& work;
  std::exception_ptr thrown = nullptr;
  Recovery recovery = {};
};

void* run_call(void* pointer) {
  Call& call = *static_cast<Call*>(pointer);
  const SignalStack for_crashes;
  if (sigsetjmp(call.recovery.place, 1) == 0) {
    recovery = &call.recovery;
    try {
      call.work();
    } catch (...) {
      call.thrown = std::current_exception();
    }
    recovery = nullptr;
  }
  return nullptr;
}

}  // namespace

SignalHandlers::SignalHandlers() {
  Installed& state = installed();
  const std::lock_guard lock(state.mutex);
  if (state.count++ != 0) return;
  struct sigaction action = {};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) sigaction(fatal_signals[i], &action, &state.previous[i]);
}

SignalHandlers::~SignalHandlers() {
  Installed& state = installed();
  const std::lock_guard lock(state.mutex);
  if (--state.count != 0) return;
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) sigaction(fatal_signals[i], &state.previous[i], nullptr);
}

void Containment::run(const std::string& name, const std::function<void()>& work) const {
  if (crashed_)
    throw CompileError(name + ": error: " + library_ +
                       " crashed earlier in this process and cannot be used again in it");
  const SignalHandlers handlers;
  Call call{work};
  run_on_deep_stack(run_call, &call);
  if (call.recovery.signal != 0) {
    crashed_ = true;
    throw CompileError(name + ": error: the compiler crashed: " + library_ + ": " + strsignal(call.recovery.signal));
  }
  if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
}

}  // namespace iris
