#pragma once

#include <pthread.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

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
  if (error != 0) {
    throw std::runtime_error("cannot start a thread for the compiler: " + std::generic_category().message(error) +
                             "; raise the limit of processes (ulimit -u) or of address space (ulimit -v)");
  }
  pthread_join(thread, nullptr);
}

}  // namespace iris
