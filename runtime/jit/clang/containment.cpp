#include "runtime/jit/clang/containment.hpp"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <array>
#include <csignal>
#include <cstring>
#include <mutex>
#include <vector>

namespace iris::clang_library {
namespace {

constexpr unsigned stack_bytes = 64u << 20;
constexpr std::size_t signal_stack_bytes = 64u << 10;

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

}  // namespace

std::optional<std::string> run_contained(const std::function<void()>& work) {
  const Protection protection;
  std::string fatal;
  std::vector<char> signal_stack(signal_stack_bytes);
  llvm::CrashRecoveryContext context;
  const bool finished = context.RunSafelyOnThread(
      [&] {
        stack_t stack = {};
        stack.ss_sp = signal_stack.data();
        stack.ss_size = signal_stack.size();
        sigaltstack(&stack, nullptr);
        fatal_message = &fatal;
        work();
      },
      stack_bytes);
  if (finished) return std::nullopt;
  return describe(context.RetCode, fatal);
}

}  // namespace iris::clang_library
