#include "runtime/jit/clang/containment.hpp"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <csignal>
#include <cstring>
#include <mutex>

#include "runtime/system/deep_stack.hpp"
#include "runtime/system/signal_stack.hpp"

namespace iris::clang_library {
namespace {

thread_local std::string* fatal_message = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
  if (fatal_message != nullptr) *fatal_message = reason;
  if (auto* context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(EXIT_FAILURE);
  std::abort();
}

/// While one exists, crashes on threads inside a CrashRecoveryContext are caught. Counted: LLVM's switch is global.
class Protection {
 public:
  Protection() {
    const std::lock_guard lock(mutex());
    if (count()++ != 0) return;
    llvm::CrashRecoveryContext::Enable();
    use_signal_stack();
    llvm::install_fatal_error_handler(on_fatal_error);
  }
  ~Protection() {
    const std::lock_guard lock(mutex());
    if (--count() != 0) return;
    llvm::remove_fatal_error_handler();
    llvm::CrashRecoveryContext::Disable();
  }
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static int& count() {
    static int instance = 0;
    return instance;
  }

  // LLVM installs its handlers without SA_ONSTACK; where the stack has overflowed they could not run.
  static void use_signal_stack() {
    for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP}) {
      struct sigaction action = {};
      sigaction(number, nullptr, &action);
      action.sa_flags |= SA_ONSTACK;
      sigaction(number, &action, nullptr);
    }
  }
};

std::string describe(int code, const std::string& fatal) {
  if (!fatal.empty()) return fatal;
  if (code > 128) return strsignal(code - 128);
  return "it gave up with exit code " + std::to_string(code);
}

/// One call of run_contained, on its thread.
struct Call {
  const std::function<void()>& work;
  bool finished = false;
  std::string fatal = {};
  llvm::CrashRecoveryContext context = {};
};

void* run_call(void* pointer) {
  Call& call = *static_cast<Call*>(pointer);
  const SignalStack for_crashes;
  fatal_message = &call.fatal;
  call.finished = call.context.RunSafely([&call] { call.work(); });
  return nullptr;
}

}  // namespace

std::optional<std::string> run_contained(const std::function<void()>& work) {
  const Protection protection;
  Call call{work};
  // LLVM's own way to such a thread ends the process where none can be started.
  run_on_deep_stack(run_call, &call);
  if (call.finished) return std::nullopt;
  return describe(call.context.RetCode, call.fatal);
}

}  // namespace iris::clang_library
