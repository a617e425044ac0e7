// Outcomes that are looked at, and those behind which nothing comes.
#include <iris/device/barrier.hpp>
#include <iris/device/lines.hpp>
#include <iris/device/lock.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void leaves(const Context& context, const typename Config::Element* in, typename Config::Element* out, i64 m,
                       i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  out[thread_index()] = load(context, in + thread_index(), 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void goes_on_only_if(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (block_wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::step)) {
    out[thread_index()] = load(context, in + thread_index(), Config::root);
  }
}

template <typename Config>
__device__ void leaves_a_loop(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  for (u32 step = 0; step < 4; ++step) {
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step)) return;
    out[step] = load(context, in + step, Config::root);
  }
}

template <typename Config>
__device__ void agrees_in_the_block(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  bool arrived = true;
  for (i32 source = thread_index(); source < Config::world; source += Config::threads) {
    arrived = wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::step) && arrived;
  }
  if (!sync_block_and(arrived)) return;
  out[thread_index()] = load(context, in + thread_index(), 1);
}

template <typename Config>
__device__ void keeps_it_and_looks(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool arrived = same_block_barrier(launch, Wait::entry);
  if (arrived) out[thread_index()] = load(context, in + thread_index(), 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ bool root_has_come(const Launch<Config>& launch) {
  return block_wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::step);
}

template <typename Config>
__device__ void asks_a_function(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!root_has_come(launch)) return;
  out[thread_index()] = load(context, in + thread_index(), Config::root);
}

template <typename Config>
__device__ void waits_at_the_very_end(const Context& context, const typename Config::Element* in,
                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), in[thread_index()], 1);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  for (i32 source = 0; source < Config::world; ++source) {
    block_wait_acquire(launch, own_flag<Config>(0), 0, source, Wait::arrival);
  }
}

template <typename Config>
__device__ void end_together(Launch<Config>& launch) {
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void ends_in_a_function(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  store(context, out + thread_index(), in[thread_index()], 1);
  end_together(launch);
}

template <typename Config>
__device__ void says_that_it_is_meant(const Context& context, const typename Config::Element* in,
                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  static_cast<void>(same_block_barrier(launch, Wait::entry));
  out[thread_index()] = in[thread_index()];
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void takes_a_lock(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                             i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) open_lock(launch, own_flag<Config>(0));
  if (!same_block_barrier(launch, Wait::entry)) return;
  BlockLock<Config> lock(launch, own_flag<Config>(0), 1);
  if (!lock.acquire()) return;
  store(context, out + thread_index(), in[thread_index()], 1);
  lock.release();
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void receives_lines(const Context& context, const typename Config::Element* in,
                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Mailbox<Config> mailbox(launch, m * n);
  LinePack<typename Config::Element> values;
  if (mailbox.receive_from(thread_index(), Config::root, values)) {
    MessageLine<typename Config::Element, 1>(Rows{1, m * n, m * n}, thread_index(), true).store(out, values);
  }
}
