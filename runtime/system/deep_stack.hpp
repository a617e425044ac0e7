#pragma once

#include <pthread.h>

#include <cstddef>
#include <system_error>

#include "runtime/system/thread.hpp"

namespace iris {

/// Calls work(argument) on a thread with a stack for deep recursion, and waits for it. Throws std::runtime_error, in
/// words, where no such thread can be started.
inline void run_on_deep_stack(void* (*work)(void*), void* argument) {
  constexpr std::size_t stack_bytes = 64u << 20;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread = {};
  const int error = pthread_create(&thread, &attributes, work, argument);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw cannot_start_thread("the compiler", {error, std::generic_category()});
  pthread_join(thread, nullptr);
}

}  // namespace iris
