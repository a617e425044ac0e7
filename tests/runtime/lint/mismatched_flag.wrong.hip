// Waits for what nobody signals.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void waits_for_the_next_flag(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(1), 0, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_the_next_step(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 1, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_its_own_flag(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release_all(launch, own_flag<Config>(context.rank), 0);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    const i64 flag = own_flag<Config>(context.rank);
    if (!block_wait_acquire(launch, flag, 0, peer, Wait::arrival)) return;  // expect: iris-mismatched-flag
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void counts_one_step_ahead_in_a_loop(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  const i32 next = peer_at<Config::world>(context, 1);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  for (i64 chunk = 0; chunk < m; ++chunk) {
    store(context, out + chunk, in[chunk], next);
    block_signal_release(launch, flag, static_cast<u32>(chunk), next);
    const u32 step = static_cast<u32>(chunk + 1);
    if (!block_wait_acquire(launch, flag, step, previous, Wait::step)) return;  // expect: iris-mismatched-flag
  }
}

template <typename Config>
__device__ void lays_flags_out_otherwise(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i32 peer = peer_at<Config::world>(context, 1);
  const i32 source = peer_at<Config::world>(context, Config::world - 1);
  block_signal_release(launch, own_flag<Config>(block_index() * Config::world + context.rank), 0, peer);
  const i64 flag = own_flag<Config>(source * Config::blocks + block_index());
  if (!block_wait_acquire(launch, flag, 0, source, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void forgets_the_barriers_flags(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 mine = own_flag<Config>(0);
  block_signal_release(launch, mine, 0, 1);
  if (!block_wait_acquire(launch, 0, 0, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ i64 arrival_flag(i64 block) {
  return own_flag<Config>(2 * block);
}

template <typename Config>
__device__ void takes_one_of_two_in_a_function(const Context& context, const typename Config::Element* in,
                                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, arrival_flag<Config>(block_index()), 0, 1);
  const i64 flag = arrival_flag<Config>(block_index()) + 1;
  if (!block_wait_acquire(launch, flag, 0, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ bool root_has_come(const Launch<Config>& launch) {
  return block_wait_acquire(launch, own_flag<Config>(3), 0, Config::root, Wait::step);  // expect: iris-mismatched-flag
}

template <typename Config>
__device__ void waits_in_a_function(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == Config::root) block_signal_release_all(launch, own_flag<Config>(2), 0);
  if (!root_has_come(launch)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_by_one_thread_for_a_later_step(const Context& context, const typename Config::Element* in,
                                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  block_signal_release(launch, own_flag<Config>(0), 1, 1);
  bool arrived = true;
  if (thread_index() == 0) {
    arrived = wait_acquire(launch, own_flag<Config>(0), 2, 1, Wait::arrival);  // expect: iris-mismatched-flag
  }
  if (sync_block_and(arrived)) out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void mixes_up_two_flags(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 data = own_flag<Config>(2 * i64{block_index()});
  const i64 credit = data + 2 * Config::blocks;
  block_signal_release(launch, data, 0, 1);
  if (!block_wait_acquire(launch, credit, 0, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_all_where_the_root_alone_signals(const Context& context, const typename Config::Element* in,
                                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == 0) block_signal_release_all(launch, own_flag<Config>(context.rank), 0);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    const i64 flag = own_flag<Config>(peer);
    if (!block_wait_acquire(launch, flag, 0, peer, Wait::arrival)) return;  // expect: iris-mismatched-flag
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_on_all_where_all_but_the_last_signal(const Context& context, const typename Config::Element* in,
                                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  const bool is_last = Config::world - 1 == context.rank;
  if (!is_last) block_signal_release(launch, flag, 0, peer_at<Config::world>(context, 1));
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  if (!block_wait_acquire(launch, flag, 0, previous, Wait::step)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_each_rank_in_order(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank > 0) block_signal_release_all(launch, own_flag<Config>(context.rank), 0);
  for (i32 source = 0; source < Config::world; ++source) {
    const i64 flag = own_flag<Config>(source);
    if (!block_wait_acquire(launch, flag, 0, source, Wait::arrival)) return;  // expect: iris-mismatched-flag
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void tell_next(const Launch<Config>& launch) {
  block_signal_release(launch, own_flag<Config>(0), 0, peer_at<Config::world>(launch.context, 1));
}

template <typename Config>
__device__ void signals_in_a_function_by_one_rank(const Context& context, const typename Config::Element* in,
                                                  typename Config::Element* out, i64 m, i64 n, i32 root) {
  Launch<Config> launch(context);
  if (context.rank == root) tell_next(launch);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  const i64 flag = own_flag<Config>(0);
  if (!block_wait_acquire(launch, flag, 0, previous, Wait::step)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_by_every_block_for_the_firsts_signal(const Context& context, const typename Config::Element* in,
                                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  if (block_index() == 0) block_signal_release(launch, flag, 0, 1);
  if (!block_wait_acquire(launch, flag, 0, 1, Wait::arrival)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void lets_the_root_wait_for_itself(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  if (context.rank == Config::root) block_signal_release_all(launch, flag, 0);
  if (!block_wait_acquire(launch, flag, 0, Config::root, Wait::step)) return;  // expect: iris-mismatched-flag
  out[thread_index()] = in[thread_index()];
}
