// Waits that may have been given up, and kernels that go on as if they had not.
#include <iris/device/barrier.hpp>
#include <iris/device/lines.hpp>
#include <iris/device/lock.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void ignores_the_entry(const Context& context, const typename Config::Element* in,
                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  same_block_barrier(launch, Wait::entry);  // expect: iris-ignored-wait
  store(context, out + thread_index(), in[thread_index()], 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void ignores_an_arrival(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::arrival);  // expect: iris-ignored-wait
  out[thread_index()] = launch.template workspace<typename Config::Element>()[thread_index()];
}

template <typename Config>
__device__ void ignores_it_in_a_loop(const Context& context, const typename Config::Element* in,
                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (u32 step = 0; step < 4; ++step) {
    block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step);  // expect: iris-ignored-wait
    out[step] = load(context, in + step, Config::root);
  }
}

template <typename Config>
__device__ void lets_one_thread_ignore_it(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) {
    wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::step);  // expect: iris-ignored-wait
  }
  sync_block();
  out[thread_index()] = load(context, in + thread_index(), Config::root);
}

template <typename Config>
__device__ void keeps_it_in_a_variable(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool arrived = same_block_barrier(launch, Wait::entry);  // expect: iris-ignored-wait
  out[thread_index()] = load(context, in + thread_index(), 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void wait_for_root(const Launch<Config>& launch) {
  block_wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::step);  // expect: iris-ignored-wait
}

template <typename Config>
__device__ void lets_a_function_ignore_it(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  wait_for_root(launch);
  out[thread_index()] = load(context, in + thread_index(), Config::root);
}

template <typename Config>
__device__ void takes_a_lock_or_not(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) open_lock(launch, own_flag<Config>(0));
  if (!same_block_barrier(launch, Wait::entry)) return;
  BlockLock<Config> lock(launch, own_flag<Config>(0), 1);
  lock.acquire();  // expect: iris-ignored-wait
  store(context, out + thread_index(), in[thread_index()], 1);
  lock.release();
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void ignores_a_line(const Context& context, const typename Config::Element* in,
                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Mailbox<Config> mailbox(launch, m * n);
  LinePack<typename Config::Element> values;
  mailbox.receive_from(thread_index(), Config::root, values);  // expect: iris-ignored-wait
  MessageLine<typename Config::Element, 1>(Rows{1, m * n, m * n}, thread_index(), true).store(out, values);
}

template <typename Config>
__device__ void passes_it_on_all_the_same(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i32 next = peer_at<Config::world>(context, 1);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  if (context.rank != 0)
    block_wait_acquire(launch, own_flag<Config>(0), 0, previous, Wait::step);  // expect: iris-ignored-wait
  block_signal_release(launch, own_flag<Config>(0), 0, next);
}

template <typename Config>
__device__ void ignores_it_where_blocks_part(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (block_index() < 2) {
    same_block_barrier(launch, Wait::entry);  // expect: iris-ignored-wait
  } else if (!same_block_barrier(launch, Wait::entry)) {
    return;
  }
  out[block_index()] = load(context, in, 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void ignores_it_before_a_loop_over_packs(const Context& context, const typename Config::Element* in,
                                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  same_block_barrier(launch, Wait::entry), sync_block();  // expect: iris-ignored-wait
  const auto* theirs = on_rank(context, in, 1);
  for_each_pack<Config::vector, 1>(grid_threads<Config>(), Range{0, m * n},
                                   [&](const auto& index) { store(out, index, load(theirs, index)); });
  same_block_barrier(launch, Wait::exit);
}
