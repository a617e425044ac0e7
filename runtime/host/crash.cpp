#include "runtime/host/crash.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include "runtime/host/address_sanitizer.hpp"
#include "runtime/host/place_of_call.hpp"
#include "runtime/host/stack_pool.hpp"

namespace iris::host {

namespace {

constexpr std::uintptr_t first_pages = 64 << 10;  // where nothing is ever mapped

constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

void (*leave_crash)(const Crash& crash) = nullptr;
std::array<struct sigaction, NSIG> before;

const void* instruction_of(const void* context) {
  [[maybe_unused]] const auto* registers = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(registers->uc_mcontext.gregs[REG_RIP]);  // NOLINT(performance-no-int-to-ptr)
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(registers->uc_mcontext.pc);  // NOLINT(performance-no-int-to-ptr)
#else
  return nullptr;
#endif
}

/// The instruction is done again once this returns.
void on_signal(int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;  // by kill(), say: no instruction's doing
  if (!sent) {
    leave_crash({.signal = signal,
                 .address = info->si_addr,
                 .has_address = info->si_code != SI_KERNEL,
                 .instruction = instruction_of(context)});
  }
  const struct sigaction& other = before.at(static_cast<std::size_t>(signal));
  if ((other.sa_flags & SA_SIGINFO) != 0) {
    other.sa_sigaction(signal, info, context);
  } else if (other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN) {
    other.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);
    if (sent) ::raise(signal);
  }
}

std::string text_of(const void* address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%p", address);
  return address == nullptr ? "0x0" : text.data();
}

std::string describe_access(const Crash& crash, const DeviceThread& thread) {
  // Frames of more than a page touch each of its pages (-fstack-clash-protection), so the one below the stack, too.
  if (crash.has_address && StackPool::is_below(thread.stack(), crash.address)) {
    return "needs more than the " + std::to_string(StackPool::usable_bytes() >> 10) +
           " KiB of stack that a thread has on the CPU; make its arrays smaller, or shared";
  }
  const std::string at = crash.has_address ? "accesses address " + text_of(crash.address) : "accesses an address";
  if (crash.has_address && reinterpret_cast<std::uintptr_t>(crash.address) < first_pages)
    return at + ", by a pointer that is null";
  return at + " where there is no memory; does an index leave its buffer?";
}

}  // namespace

void catch_crashes(void (*leave)(const Crash& crash)) {
  if (under_address_sanitizer) return;
  static std::once_flag once;
  std::call_once(once, [&] {
    leave_crash = leave;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    // Not blocked in the handler, which may never return.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    for (const int signal : signals) ::sigaction(signal, &action, &before.at(static_cast<std::size_t>(signal)));
  });
}

void admit_crash_signals_alone() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int signal : signals) sigdelset(&blocked, signal);
  sigdelset(&blocked, SIGTRAP);
  sigdelset(&blocked, SIGABRT);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

std::string describe_crash(const Crash& crash, const DeviceThread& thread, const SourceLocator& locate) {
  const Grid& grid = *thread.block->grid;
  // place_of_call() wants the address that a call returns to, behind the call.
  const char* const behind = crash.instruction ? static_cast<const char*>(crash.instruction) + 1 : nullptr;
  const std::string place = place_of_call(locate, behind);
  const std::string what = crash.signal == SIGFPE   ? "divides a whole number by zero"
                           : crash.signal == SIGILL ? "is stopped: by an access that is not aligned to its length, by "
                                                      "a function that returns nothing, or by what else the language "
                                                      "does not define"
                                                    : describe_access(crash, thread);
  return grid.name + ", rank " + std::to_string(grid.rank) + ", block " + std::to_string(thread.block->index) +
         ", thread " + std::to_string(thread.index) + (place.empty() ? "" : ", at " + place) + ": " + what;
}

}  // namespace iris::host
