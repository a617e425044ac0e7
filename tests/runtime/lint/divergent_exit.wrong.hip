// Some threads of a warp leave a Launch elsewhere than the others.
#include <iris/device/barrier.hpp>
#include <iris/device/lines.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void returns_by_one_thread_s_wait(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    if (!wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step)) return;  // expect: iris-divergent-exit
    out[i] = 1;
  }
}

template <typename Config>
__device__ void returns_where_it_has_no_element(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 index = i64{block_index()} * Config::threads + thread_index();
  if (index >= m * n) return;  // expect: iris-divergent-exit
  out[index] = 1;
}

template <typename Config>
__device__ void lets_one_thread_signal_and_leave(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) {
    signal_release(launch, own_flag<Config>(0), 0, 1);
    return;  // expect: iris-divergent-exit
  }
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void returns_by_a_kept_outcome(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  bool arrived = true;
  if (thread_index() < Config::world) {
    arrived = wait_acquire(launch, own_flag<Config>(thread_index()), 0, thread_index(), Wait::arrival);
  }
  if (!arrived) return;  // expect: iris-divergent-exit
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void returns_from_a_loop_that_others_have_ended(const Context& context, typename Config::Element* out, i64 m,
                                                           i64 n) {
  Launch<Config> launch(context);
  for (i64 i = thread_index(); i < n; i += Config::threads) {
    if (i > m) return;  // expect: iris-divergent-exit
    out[i] = 1;
  }
}

template <typename Config>
__device__ bool has_come(const Launch<Config>& launch) {
  return wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step);
}

template <typename Config>
__device__ void returns_by_what_a_function_says(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!has_come(launch)) return;  // expect: iris-divergent-exit
  out[thread_index()] = 1;
}

template <typename Config>
__device__ void returns_by_a_switch(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  switch (thread_index() % 4) {
    case 0:
      return;  // expect: iris-divergent-exit
    default:
      out[thread_index()] = 1;
  }
  out[thread_index()] += 1;
}

template <typename Config>
__device__ void returns_within_conditions_of_all(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() < 16) {
    if (m > 3) {
      out[thread_index()] = 1;
      return;  // expect: iris-divergent-exit
    }
  }
  out[thread_index()] = 2;
}

template <typename Config>
__device__ void leaves_a_launch_by_the_loop_around(const Context& context, typename Config::Element* out, i64 m,
                                                   i64 n) {
  for (i64 round = 0; round < m; ++round) {
    Launch<Config> launch(context);
    if (out[thread_index()] == 0) continue;  // expect: iris-divergent-exit
    out[thread_index()] = 1;
  }
}

template <typename Config>
__device__ void breaks_out_of_a_launch(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  do {
    Launch<Config> launch(context);
    if (thread_index() >= n) break;  // expect: iris-divergent-exit
    out[thread_index()] = 1;
  } while (false);
}

template <typename Config>
__device__ void returns_by_what_its_element_is(const Context& context, const typename Config::Element* in,
                                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const typename Config::Element value = in[thread_index()];
  if (value == 0) return;  // expect: iris-divergent-exit
  out[thread_index()] = 1 / value;
}

template <typename Config>
__device__ void returns_past_threads_that_go_on(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 round = 0; round < m; ++round) {
    if (thread_index() == round) continue;
    out[round * n + thread_index()] = 1;
    if (round == 7) return;  // expect: iris-divergent-exit
  }
}

template <typename Config>
__device__ void returns_past_threads_that_have_left(const Context& context, typename Config::Element* out, i64 m,
                                                    i64 n) {
  Launch<Config> launch(context);
  for (i64 round = 0; round < m; ++round) {
    {
      if (out[thread_index()] == 0) break;
    }
    if (m > 3) {
      out[thread_index()] = 0;
      return;  // expect: iris-divergent-exit
    }
  }
}
