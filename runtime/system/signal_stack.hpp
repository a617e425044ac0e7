#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace iris {

/// Where the calling thread's handlers of signals run while this lives, those with SA_ONSTACK: a stack that has
/// overflowed has no room for one. Itself, it lies near the begin of a thread's stack, which is not where it overflows.
/// The thread gets back what it had before, which a sanitizer takes away at the thread's end.
class SignalStack {
 public:
  SignalStack() {
    stack_t stack = {};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &before_);
  }
  ~SignalStack() { sigaltstack(&before_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  alignas(16) std::array<std::byte, std::size_t{64} << 10> memory_ = {};
  stack_t before_ = {};
};

}  // namespace iris
