#pragma once

#include <hip/hip_runtime.h>

// What kernels of target host ask for, on threads of the system. Comes after a kernel, which declares the table.

inline unsigned fake_sync_and(unsigned mine) {
  FakeBlock& block = *fake_block;
  if (mine == 0) ++block.no;
  block.sync.arrive_and_wait();
  const bool all = block.no == 0;
  block.sync.arrive_and_wait();  // all have read it
  if (mine == 0) --block.no;
  block.sync.arrive_and_wait();
  return all ? 1 : 0;
}

inline unsigned fake_wait(const iris::device::u64* flag, iris::device::u64 at_least, iris::device::i32,
                          iris::device::Wait) {
  const auto end = std::chrono::steady_clock::now() + fake_timeout;
  while (static_cast<iris::device::i64>(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - at_least) < 0) {
    if (std::chrono::steady_clock::now() > end) return 0;
    std::this_thread::yield();
  }
  return 1;
}

inline void* fake_shared(const void* key, iris::device::u64 bytes, iris::device::u64) {
  const std::lock_guard lock(fake_block->mutex);
  auto& memory = fake_block->shared[key];
  if (memory.empty()) memory.resize(bytes / sizeof(std::max_align_t) + 1);
  return memory.data();
}

inline const iris::device::Engine fake_engine = {
    .thread_index = [] { return fake_thread_index; },
    .block_index = [] { return fake_block_index; },
    .shared = fake_shared,
    .sync_block = [] { fake_block->sync.arrive_and_wait(); },
    .sync_block_and = fake_sync_and,
    .before_atomic = [](const void*) {},
    .after_atomic = [](const void*, unsigned) {},
    .wait = fake_wait,
    .nanoseconds = [] { return iris::device::u64{0}; },
};
