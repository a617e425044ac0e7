// Not all of those come who have to come together.
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void syncs_some_threads(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  if (thread_index() < 32) {
    sync_block();  // expect: iris-divergent-barrier
  }
}

template <typename Config>
__device__ void lets_threads_leave_before(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  const i64 index = i64{block_index()} * Config::threads + thread_index();
  if (index >= m * n) return;
  out[index] = 1;
  sync_block();  // expect: iris-divergent-barrier
}

template <typename Config>
__device__ void signals_by_the_block_in_one_thread(const Context& context, const typename Config::Element* in,
                                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  if (thread_index() == 0) block_signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-divergent-barrier
}

template <typename Config>
__device__ void waits_by_the_block_in_one_thread(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool leader = thread_index() == 0;
  bool arrived = true;
  if (leader) {
    arrived = block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step);  // expect: iris-divergent-barrier
  }
  if (arrived) out[thread_index()] = 1;
}

template <typename Config>
__device__ void loops_as_long_as_threads_have_work(const Context& context, typename Config::Element* out, i64 m,
                                                   i64 n) {
  for (i64 i = thread_index(); i < n; i += Config::threads) {
    out[i] = 1;
    sync_block();  // expect: iris-divergent-barrier
  }
}

template <typename Config>
__device__ void leaves_by_one_thread_s_wait(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  bool arrived = true;
  if (thread_index() < Config::world) {
    arrived = atomic_load(launch.context.flags + own_flag<Config>(thread_index())) != 0;
  }
  if (arrived) {
    sync_block_after_stores();  // expect: iris-divergent-barrier
  }
}

template <typename Config>
__device__ void syncs_in_a_loop_over_packs(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  for_each_pack<1, 1>(grid_threads<Config>(), Range{0, m * n}, [&](const auto& index) {
    out[index[0]] = 1;
    sync_block();  // expect: iris-divergent-barrier
  });
}

template <typename Config>
__device__ void leaves_the_root_out(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank != Config::root) {
    if (!same_block_barrier(launch, Wait::entry)) return;  // expect: iris-divergent-barrier
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void lets_the_root_leave_before(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool root = context.rank == Config::root;
  if (root) return;
  out[thread_index()] = in[thread_index()];
  same_block_barrier(launch, Wait::exit);  // expect: iris-divergent-barrier
}

template <typename Config>
__device__ void passes_one_more_on_a_rank(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == 0) {
    if (!same_block_barrier(launch, Wait::entry)) return;  // expect: iris-divergent-barrier
    out[thread_index()] = in[thread_index()];
    same_block_barrier(launch, Wait::exit);  // expect: iris-divergent-barrier
  } else {
    same_block_barrier(launch, Wait::entry);  // expect: iris-divergent-barrier
  }
}

template <typename Config>
__device__ void loops_once_for_each_rank_below(const Context& context, const typename Config::Element* in,
                                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i32 turn = 0; turn < context.rank; ++turn) {
    if (!same_block_barrier(launch, Wait::step)) return;  // expect: iris-divergent-barrier
  }
}

__device__ void meet() {
  sync_block();
}

template <typename Config>
__device__ void meets_in_a_function(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  if (thread_index() % 2 == 0) meet();  // expect: iris-divergent-barrier
}

__device__ void meet_if(bool wanted) {
  if (wanted) sync_block();  // expect: iris-divergent-barrier
}

template <typename Config>
__device__ void hands_the_condition_to_a_function(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  meet_if(thread_index() == 0);
}
