// What looks like leaving a Launch at two places, and does not.
#include <iris/device/barrier.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void leaves_the_loop_by_break(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    if (!wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step)) break;
    out[i] = 1;
  }
}

template <typename Config>
__device__ void returns_by_the_block_s_wait(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(context.rank), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(1), 0, 1, Wait::step)) return;
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void returns_by_a_barrier(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  out[thread_index()] = 1;
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void returns_before_there_is_a_launch(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  if (i64{block_index()} * Config::threads >= n) return;
  Launch<Config> launch(context);
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void has_no_launch(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  const i64 index = i64{block_index()} * Config::threads + thread_index();
  if (index >= n) return;
  out[index] = 1;
}

template <typename Config>
__device__ void agrees_before_it_returns(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(context.rank), 0, 1);
  if (!sync_block_and(thread_index() != 0 || wait_acquire(launch, own_flag<Config>(1), 0, 1, Wait::step))) return;
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void wait_for_all(const Launch<Config>& launch) {
  for (i32 peer = thread_index(); peer < Config::world; peer += Config::threads) {
    if (!wait_acquire(launch, own_flag<Config>(peer), 0, peer, Wait::arrival)) return;
  }
}

template <typename Config>
__device__ void waits_in_a_function_of_its_own(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() < Config::world) signal_release(launch, own_flag<Config>(context.rank), 0, thread_index());
  wait_for_all(launch);
}

template <typename Config>
__device__ void returns_on_some_ranks(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == 0) return;
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void returns_in_some_blocks(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (block_index() >= n || m == 0) return;
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void goes_on_with_the_loop(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 i = thread_index(); i < n; i += Config::threads) {
    if (out[i] == 0) continue;
    switch (thread_index()) {
      case 0:
        break;
      default:
        out[i] = 1;
    }
  }
}

template <typename Config>
__device__ void returns_from_a_lambda(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto set = [&](i64 index) {
    if (index >= n) return;
    out[index] = 1;
  };
  set(thread_index());
}

template <typename Config>
__device__ void has_one_exit_at_its_end(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() < n) out[thread_index()] = 1;
  return;
}

template <typename Config>
__device__ void returns_past_blocks_that_go_on(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 round = 0; round < m; ++round) {
    if (block_index() == round) continue;
    for (i64 i = thread_index(); i < n; i += Config::threads) {
      if (out[i] == 0) break;
      out[i] = 1;
    }
    return;
  }
}
