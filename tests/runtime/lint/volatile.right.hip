// What volatile is taken for, done as it is meant.
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void polls_by_an_atomic(const Context& context, const u32* flag, i64 m, i64 n) {
  while (atomic_load<Order::acquire>(flag) == 0) {
  }
}

template <typename Config>
__device__ void waits_for_a_signal(const Context& context, f32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!block_wait_acquire(launch, own_flag<Config>(block_index()), 0, Config::root, Wait::step)) return;
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void stores_by_an_atomic(const Context& context, u32* flag, i64 m, i64 n) {
  if (thread_index() == 0) atomic_store<Order::release>(on_rank(context, flag, 1), 1u);
}

template <typename Config>
__device__ void keeps_a_value_of_its_own(const Context& context, f32* out, i64 m, i64 n) {
  volatile f32 kept = static_cast<f32>(n);  // of this thread alone: nobody synchronises by it
  out[thread_index()] = kept;
}

template <typename Config>
__device__ void writes_assembly(const Context& context, f32* out, i64 m, i64 n) {
  asm volatile("" ::: "memory");
  out[0] = 1;
}

template <typename Config>
__device__ void passes_a_barrier(const Context& context, const f32* in, f32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  out[0] = load(context, in, 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void meets_in_the_block(const Context& context, f32* out, i64 m, i64 n) {
  out[thread_index()] = 1;
  sync_block();
  if (thread_index() == 0) out[0] = out[1];
}

template <typename Config>
__device__ void says_the_word_only(const Context& context, f32* out, i64 m, i64 n) {
  const char* text = "volatile u32*";  // volatile u32* is what this does not use
  out[0] = text[0];
}

template <typename Config>
__device__ void calls_a_variable_so(const Context& context, f32* out, i64 m, i64 n) {
  const i32 volatile_count = 3;
  out[0] = volatile_count;
}

template <typename Config>
__device__ void draws_a_number(const Context& context, u32* next, u32* out, i64 m, i64 n) {
  if (thread_index() == 0) out[block_index()] = atomic_add<Order::relaxed, Scope::gpu>(next, 1u);
}
