#pragma once

#include <cstddef>

namespace iris::host {

/// A flow of control with a stack of its own, on top of Boost.Context. Fibers switch to one another directly; the
/// thread that started it all is represented by a Fiber too. With AddressSanitizer every switch is announced to it.
class Fiber {
 public:
  using Body = void (*)(Fiber& self);

  /// The calling thread's own flow. Constructed on the thread that will switch to other fibers.
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Gives a stack and a body to a fiber that runs when it is first switched to. The body never returns: it ends with
  /// leave_to.
  void prepare(char* stack, std::size_t bytes, Body body);

  /// Runs `next` until somebody switches back to *this.
  void switch_to(Fiber& next);
  /// Ends *this and runs `next`; its stack is free as soon as another fiber runs.
  [[noreturn]] void leave_to(Fiber& next);

  /// Gives up a fiber that will not be resumed, and returns its stack, or null if it has none.
  char* discard();

  bool has_stack() const { return stack_ != nullptr; }
  /// The lowest address of its stack, or null.
  const char* stack() const { return stack_; }

 private:
  struct Entry;

  void jump(Fiber& next, bool ending);
  void arrived_from(Fiber& previous, void* context);

  void* context_ = nullptr;
  char* stack_ = nullptr;
  std::size_t bytes_ = 0;
  Body body_ = nullptr;
  void* sanitizer_state_ = nullptr;
};

}  // namespace iris::host
