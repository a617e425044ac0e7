#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

namespace iris {

/// Where the calling thread's handlers of signals run while this lives, those with SA_ONSTACK: a stack that has
/// overflowed has no room for one. The thread gets back what it had before, which a sanitizer takes away at the
/// thread's end.
class SignalStack {
 public:
  SignalStack() {
    stack_t stack = {};
    stack.ss_sp = memory_.get();
    stack.ss_size = bytes;
    sigaltstack(&stack, &before_);
  }
  ~SignalStack() { sigaltstack(&before_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t bytes = std::size_t{64} << 10;

  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(bytes);
  stack_t before_ = {};
};

}  // namespace iris
