// One thread signals, and what the others have stored may not have arrived.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void signals_at_once(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void signals_after_a_loop_over_packs(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i32 peer = peer_at<Config::world>(context, 1);
  auto* const theirs = on_rank(context, out, peer);
  for_each_pack<Config::vector, 1>(block_threads<Config>(), Range{0, m * n},
                                   [&](const auto& index) { store(theirs, index, load(in, index)); });
  if (thread_index() == 0) {
    signal_release(launch, own_flag<Config>(block_index()), 0, peer);  // expect: iris-unsynchronized-signal
  }
}

template <typename Config>
__device__ void meets_without_waiting_for_stores(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  put(context, in + thread_index(), out + thread_index(), 1, 1);
  sync_block();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void synchronises_before_it_stores(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  sync_block_after_stores();
  store(context, out + thread_index(), in[thread_index()], 1);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void synchronises_on_one_path_only(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  if (m > 1) sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void signals_in_the_next_pass(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (u32 chunk = 0; chunk < 4; ++chunk) {
    if (thread_index() == 0)
      signal_release(launch, own_flag<Config>(0), chunk, 1);  // expect: iris-unsynchronized-signal
    store(context, out + chunk, in[chunk], 1);
  }
}

template <typename Config>
__device__ void signals_by_all_threads(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void push(const Context& context, const typename Config::Element* in, typename Config::Element* out) {
  store(context, out + thread_index(), in[thread_index()], 1);
}

template <typename Config>
__device__ void stores_in_a_function(const Context& context, const typename Config::Element* in,
                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  push<Config>(context, in, out);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void tell(const Launch<Config>& launch) {
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}

template <typename Config>
__device__ void signals_in_a_function(const Context& context, const typename Config::Element* in,
                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  tell(launch);
}

template <typename Config>
__device__ void tells_many_at_once(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 i = thread_index(); i < n; i += Config::threads) out[i] = in[i];
  for (i32 offset = 1 + thread_index(); offset < Config::world; offset += Config::threads) {
    const i32 peer = peer_at<Config::world>(context, offset);
    signal_release(launch, own_flag<Config>(0), 0, peer);  // expect: iris-unsynchronized-signal
  }
}

template <typename Config>
__device__ void writes_to_shared_sums_first(const Context& context, const u32* in, u32* sums, i64 m, i64 n) {
  Launch<Config> launch(context);
  atomic_add(on_rank(context, sums, 1), in[thread_index()]);
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-unsynchronized-signal
}
