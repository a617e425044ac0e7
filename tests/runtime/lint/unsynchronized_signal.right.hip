// Signals of what has been stored, by whom it was stored.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void synchronises(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                             i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
}

template <typename Config>
__device__ void signals_by_the_block(const Context& context, const typename Config::Element* in,
                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
}

template <typename Config>
__device__ void stores_in_the_thread_that_signals(const Context& context, const typename Config::Element* in,
                                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) {
    put(context, in, out, 4, 1);
    signal_release(launch, own_flag<Config>(0), 0, 1);
  }
}

template <typename Config>
__device__ void says_only_that_it_has_started(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void synchronises_in_each_pass(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (u32 chunk = 0; chunk < 4; ++chunk) {
    store(context, out + chunk * Config::threads + thread_index(), in[thread_index()], 1);
    sync_block_after_stores();
    if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), chunk, 1);
  }
}

template <typename Config>
__device__ void gives_each_thread_a_flag(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  signal_release(launch, own_flag<Config>(thread_index()), 0, 1);
}

template <typename Config>
__device__ void stores_and_signals_rank_by_rank(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i32 offset = 1 + thread_index(); offset < Config::world; offset += Config::threads) {
    const i32 peer = peer_at<Config::world>(context, offset);
    put(context, in, out, 8, peer);
    signal_release(launch, own_flag<Config>(context.rank), 0, peer);
  }
}

template <typename Config>
__device__ void tell(const Launch<Config>& launch) {
  sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
}

template <typename Config>
__device__ void synchronises_in_a_function(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  tell(launch);
}

template <typename Config>
__device__ void passes_a_barrier_in_between(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  if (!same_block_barrier(launch, Wait::arrival)) return;
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
}

template <typename Config>
__device__ void computes_in_variables_of_its_own(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  typename Config::Element sums[4] = {};
  for (i32 i = 0; i < 4; ++i) sums[i] = in[i];
  i32 count = 0;
  count = sums[0] > 0 ? 1 : 2;
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), static_cast<u32>(count), 1);
}

template <typename Config>
__device__ void stores_after_the_signal(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::entry)) return;
  store(context, out + thread_index(), in[thread_index()], 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void synchronises_where_it_has_stored(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool last = context.rank == Config::world - 1;
  if (!last) store(context, out + thread_index(), in[thread_index()], 1);
  if (!last) sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
}
