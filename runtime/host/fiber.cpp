#include "runtime/host/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#include "runtime/host/address_sanitizer.hpp"

#ifdef IRIS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace iris::host {

namespace context = boost::context::detail;

namespace {

/// Where a fiber goes and where it came from, told to AddressSanitizer, which keeps a shadow of each stack.
#ifdef IRIS_ADDRESS_SANITIZER
void announce_switch(void** state, const char* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(state, stack, bytes);
}
void announce_arrival(void* state, const void** old_stack, std::size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(state, old_stack, old_bytes);
}
void forget_stack(char* stack, std::size_t bytes) {
  __asan_unpoison_memory_region(stack, bytes);
}
#else
void announce_switch(void**, const char*, std::size_t) {}
void announce_arrival(void*, const void**, std::size_t*) {}
void forget_stack(char*, std::size_t) {}
#endif

}  // namespace

struct Fiber::Entry {
  /// The fiber that jumps and the one it jumps to; lives on the jumping fiber's stack until the other has arrived.
  struct Passage {
    Fiber* from;
    Fiber* to;
  };

  static void start(context::transfer_t transfer) {
    const Passage passage = *static_cast<Passage*>(transfer.data);
    passage.to->arrived_from(*passage.from, transfer.fctx);
    passage.to->body_(*passage.to);
  }
};

void Fiber::prepare(char* stack, std::size_t bytes, Body body) {
  stack_ = stack;
  bytes_ = bytes;
  body_ = body;
  sanitizer_state_ = nullptr;
  context_ = context::make_fcontext(stack + bytes, bytes, &Entry::start);
}

// Not instrumented, so that `passage` lies on the fiber's own stack: ASan's stack for locals is gone at once when a
// fiber ends.
__attribute__((no_sanitize_address)) void Fiber::jump(Fiber& next, bool ending) {
  Entry::Passage passage{this, &next};
  announce_switch(ending ? nullptr : &sanitizer_state_, next.stack_, next.bytes_);
  const context::transfer_t transfer = context::jump_fcontext(std::exchange(next.context_, nullptr), &passage);
  arrived_from(*static_cast<Entry::Passage*>(transfer.data)->from, transfer.fctx);
}

void Fiber::arrived_from(Fiber& previous, void* context) {
  const void* old_stack = nullptr;
  std::size_t old_bytes = 0;
  announce_arrival(sanitizer_state_, &old_stack, &old_bytes);
  previous.context_ = context;
  // Only the thread's own flow does not know its stack beforehand; ASan tells where it is.
  if (previous.body_ == nullptr && old_stack != nullptr) {
    previous.stack_ = static_cast<char*>(const_cast<void*>(old_stack));
    previous.bytes_ = old_bytes;
  }
}

void Fiber::switch_to(Fiber& next) {
  jump(next, false);
}

void Fiber::leave_to(Fiber& next) {
  jump(next, true);
  __builtin_unreachable();
}

char* Fiber::discard() {
  if (stack_ != nullptr) forget_stack(stack_, bytes_);
  context_ = nullptr;
  return std::exchange(stack_, nullptr);
}

}  // namespace iris::host
