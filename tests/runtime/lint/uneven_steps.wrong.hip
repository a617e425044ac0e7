// Steps that do not count up, or not alike on all ranks.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void signals_one_step_again_and_again(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 chunk = 0; chunk < m; ++chunk) {
    store(context, out + chunk, in[chunk], 1);
    block_signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-uneven-steps
  }
}

template <typename Config>
__device__ void keeps_the_step_in_a_constant(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const u32 step = 1;
  const i32 next = peer_at<Config::world>(context, 1);
  for (i64 chunk = 0; chunk < 8; ++chunk) {
    store(context, out + chunk, in[chunk], next);
    block_signal_release(launch, own_flag<Config>(block_index()), step, next);  // expect: iris-uneven-steps
  }
}

template <typename Config>
__device__ void counts_in_the_wrong_loop(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (u32 row = 0; row < 8; ++row) {
    for (i64 chunk = 0; chunk < 4; ++chunk) {
      store(context, out + 4 * row + chunk, in[chunk], 1);
      block_signal_release(launch, own_flag<Config>(0), row, 1);  // expect: iris-uneven-steps
    }
  }
}

template <typename Config>
__device__ void forgets_to_count(const Context& context, const typename Config::Element* in,
                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  i64 chunk = 0;
  while (chunk < m) {
    store(context, out + chunk, in[chunk], 1);
    block_signal_release_all(launch, own_flag<Config>(context.rank), step);  // expect: iris-uneven-steps
    ++chunk;
  }
  step = 1;
}

template <typename Config>
__device__ void signals_twice(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out, in[0], 1);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  store(context, out + 1, in[1], 1);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);  // expect: iris-uneven-steps
}

template <typename Config>
__device__ void counts_down(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                            i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release_all(launch, own_flag<Config>(context.rank), 2);
  out[thread_index()] = in[thread_index()];
  if (n > 1) block_signal_release_all(launch, own_flag<Config>(context.rank), 1);  // expect: iris-uneven-steps
}

template <typename Config>
__device__ void counts_on_the_root_only(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  if (context.rank == Config::root) {
    block_signal_release_all(launch, own_flag<Config>(0), step);
    ++step;  // expect: iris-uneven-steps
  }
  block_signal_release(launch, own_flag<Config>(1), step, Config::root);
}

template <typename Config>
__device__ void skips_the_count_on_one_rank(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  for (i32 turn = 0; turn < Config::world; ++turn) {
    if (turn == context.rank) continue;
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, turn, Wait::step)) return;
    step += 1;  // expect: iris-uneven-steps
  }
  block_signal_release_all(launch, own_flag<Config>(0), step);
}

template <typename Config>
__device__ void counts_twice_on_some_ranks(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  const bool even = context.rank % 2 == 0;
  if (even) {
    step += 2;  // expect: iris-uneven-steps
  } else {
    step += 1;  // expect: iris-uneven-steps
  }
  block_signal_release_all(launch, own_flag<Config>(context.rank), step);
}

template <typename Config>
__device__ void counts_as_it_signals(const Context& context, const typename Config::Element* in,
                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  if (context.rank != 0) block_signal_release(launch, own_flag<Config>(0), step++, 0);  // expect: iris-uneven-steps
  block_signal_release(launch, own_flag<Config>(0), step++, 1);
}

template <typename Config>
__device__ void counts_own_chunks(const Context& context, const typename Config::Element* in,
                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Range mine = shard_of(m * n, Config::world, context.rank, 1);
  u32 step = 0;
  for (i64 i = mine.begin; i < mine.end; i += 64) {
    block_signal_release_all(launch, own_flag<Config>(context.rank), step);
    ++step;  // expect: iris-uneven-steps
  }
  if (!block_wait_acquire(launch, own_flag<Config>(0), step, 0, Wait::step)) return;
}
