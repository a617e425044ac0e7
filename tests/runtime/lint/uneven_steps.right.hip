// Steps that count up, alike for all who share them.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void counts_by_the_loop(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 chunk = 0; chunk < m; ++chunk) {
    store(context, out + chunk, in[chunk], 1);
    block_signal_release(launch, own_flag<Config>(0), static_cast<u32>(chunk), 1);
  }
}

template <typename Config>
__device__ void counts_by_hand(const Context& context, const typename Config::Element* in,
                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  for (i64 chunk = 0; chunk < m; chunk += 2) {
    store(context, out + chunk, in[chunk], 1);
    block_signal_release(launch, own_flag<Config>(0), step, 1);
    ++step;
  }
}

template <typename Config>
__device__ void signals_each_rank_once(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    store(context, out, in[0], peer);
    block_signal_release(launch, own_flag<Config>(context.rank), 0, peer);
  }
}

template <typename Config>
__device__ void has_a_flag_for_each_row(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 row = block_index(); row < m; row += Config::blocks) {
    store(context, out + row, in[row], 1);
    block_signal_release(launch, own_flag<Config>(row), 0, 1);
  }
}

template <typename Config>
__device__ void signals_behind_the_last_chunk(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i64 chunk = 0; chunk < m; ++chunk) {
    store(context, out + chunk, in[chunk], 1);
    if (chunk + 1 == m) block_signal_release(launch, own_flag<Config>(0), 0, 1);
  }
}

template <typename Config>
__device__ void signals_on_either_of_two_paths(const Context& context, const typename Config::Element* in,
                                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (m > n) {
    store(context, out, in[0], 1);
    block_signal_release(launch, own_flag<Config>(0), 0, 1);
  } else {
    block_signal_release(launch, own_flag<Config>(0), 0, 1);
  }
  block_signal_release(launch, own_flag<Config>(0), 1, 1);
}

template <typename Config>
__device__ void counts_alike_on_both_sides(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  if (context.rank == Config::root) {
    block_signal_release_all(launch, own_flag<Config>(0), step);
    ++step;
  } else {
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step)) return;
    step += 1;
  }
  block_signal_release_all(launch, own_flag<Config>(1 + context.rank), step);
}

template <typename Config>
__device__ void counts_for_itself(const Context& context, const typename Config::Element* in,
                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == Config::root) {
    u32 step = 0;
    for (i64 chunk = 0; chunk < m; ++chunk) {
      block_signal_release_all(launch, own_flag<Config>(0), step);
      ++step;
    }
  }
}

template <typename Config>
__device__ void leaves_after_a_time_out(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  const bool first = context.rank == 0;
  const i32 next = peer_at<Config::world>(context, 1);
  for (i64 chunk = 0; chunk < m; ++chunk) {
    if (!first && !block_wait_acquire(launch, own_flag<Config>(0), step, 0, Wait::step)) return;
    block_signal_release(launch, own_flag<Config>(0), step, next);
    ++step;
  }
}

template <typename Config>
__device__ void counts_where_extents_say_so(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32 step = 0;
  if (m > n) {
    block_signal_release_all(launch, own_flag<Config>(context.rank), step);
    ++step;
  }
  block_signal_release_all(launch, own_flag<Config>(context.rank), step);
}

template <typename Config>
__device__ void tells_two_ranks_the_same(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  block_signal_release(launch, own_flag<Config>(0), 0, 2);
  block_signal_release(launch, own_flag<Config>(1), 0, 1);
}

template <typename Config>
__device__ void signals_on_paths_that_exclude_each_other(const Context& context, const typename Config::Element* in,
                                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool root = context.rank == Config::root;
  if (root) block_signal_release(launch, own_flag<Config>(0), 0, 1);
  out[thread_index()] = in[thread_index()];
  if (!root) block_signal_release(launch, own_flag<Config>(0), 0, 1);
}
