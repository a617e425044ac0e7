// Each wait has a signal, or it cannot be seen that it has none.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void shares_one_flag(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::arrival)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void has_a_flag_for_each_writer(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release_all(launch, own_flag<Config>(block_index() * Config::world + context.rank), 0);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    if (!block_wait_acquire(launch, own_flag<Config>(block_index() * Config::world + peer), 0, peer, Wait::arrival))
      return;
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void has_a_flag_for_each_reader(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i32 next = peer_at<Config::world>(context, 1);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  block_signal_release(launch, own_flag<Config>(next), 0, next);
  if (!block_wait_acquire(launch, own_flag<Config>(context.rank), 0, previous, Wait::arrival)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_the_root(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == Config::root) {
    block_signal_release_all(launch, own_flag<Config>(block_index() * Config::world + context.rank), 0);
  } else if (!block_wait_acquire(launch, own_flag<Config>(block_index() * Config::world + Config::root), 0,
                                 Config::root, Wait::step)) {
    return;
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void counts_steps_in_a_loop(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  for (u32 chunk = 0; chunk < 8; ++chunk) {
    block_signal_release(launch, flag, chunk, peer_at<Config::world>(context, 1));
    if (!block_wait_acquire(launch, flag, chunk, peer_at<Config::world>(context, Config::world - 1), Wait::step))
      return;
    out[chunk] = in[chunk];
  }
}

template <typename Config>
__device__ void waits_for_credit_two_steps_behind(const Context& context, const typename Config::Element* in,
                                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 data = own_flag<Config>(2 * i64{block_index()});
  const i64 credit = data + 1;
  const i32 next = peer_at<Config::world>(context, 1);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  for (u32 chunk = 0; chunk < 8; ++chunk) {
    if (chunk >= 2 && !block_wait_acquire(launch, credit, chunk - 2, next, Wait::step)) return;
    store(context, out + chunk, in[chunk], next);
    block_signal_release(launch, data, chunk, next);
    if (!block_wait_acquire(launch, data, chunk, previous, Wait::step)) return;
    block_signal_release(launch, credit, chunk, previous);
  }
}

template <typename Config>
__device__ void chooses_between_two_flags(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool last = context.rank == Config::world - 1;
  const i64 partial = own_flag<Config>(2 * i64{block_index()});
  const i64 result = partial + 1;
  block_signal_release(launch, last ? result : partial, 0, peer_at<Config::world>(context, 1));
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  if (!block_wait_acquire(launch, context.rank == 0 ? result : partial, 0, previous, Wait::step)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_a_copy_engine(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i32 source = 0; source < Config::world; ++source) {
    if (!block_wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::arrival)) return;
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void distributes_tiles_to_blocks(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  constexpr i32 compute_blocks = Config::blocks - Config::comm_blocks;
  if (block_index() < compute_blocks) {
    for (i64 tile = block_index(); tile < m; tile += compute_blocks) {
      out[tile] = in[tile];
      block_signal_release(launch, own_flag<Config>(block_index()), static_cast<u32>(tile / compute_blocks),
                           context.rank);
    }
  } else {
    for (i64 tile = block_index() - compute_blocks; tile < m; tile += Config::comm_blocks) {
      const u32 step = static_cast<u32>(tile / compute_blocks);
      if (!block_wait_acquire(launch, own_flag<Config>(tile % compute_blocks), step, context.rank, Wait::step)) return;
      store(context, out + tile, out[tile], 1);
    }
  }
}

template <typename Config>
__device__ void lets_one_block_tell_the_others(const Context& context, const typename Config::Element* in,
                                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (block_index() == 0) block_signal_release_all(launch, own_flag<Config>(block_index()), 0);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_less_than_is_shown(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(0), 0, 1);
  block_signal_release(launch, own_flag<Config>(0), 1, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 1, 1, Wait::arrival)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_the_first_block_of_a_rank(const Context& context, const typename Config::Element* in,
                                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  block_signal_release(launch, own_flag<Config>(block_index()), 0, 1);
  if (!block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::arrival)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void waits_for_the_block_before(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  if (block_index() > 0 && !block_wait_acquire(launch, flag - 1, 0, context.rank, Wait::step)) return;
  out[block_index()] = in[block_index()];
  block_signal_release(launch, flag, 0, context.rank);
}

template <typename Config>
__device__ void signals_on_either_side_of_a_condition(const Context& context, const typename Config::Element* in,
                                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(0);
  const i32 next = peer_at<Config::world>(context, 1);
  if (context.rank == 0) {
    store(context, out, in[0], next);
    block_signal_release(launch, flag, 0, next);
  } else {
    block_signal_release(launch, flag, 0, next);
  }
  if (!block_wait_acquire(launch, flag, 0, peer_at<Config::world>(context, Config::world - 1), Wait::step)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void makes_a_chain(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  if (context.rank > 0 && !block_wait_acquire(launch, flag, 0, previous, Wait::step)) return;
  out[thread_index()] = in[thread_index()];
  if (context.rank < Config::world - 1) block_signal_release(launch, flag, 0, peer_at<Config::world>(context, 1));
}

template <typename Config>
__device__ bool previous_has_come(const Launch<Config>& launch) {
  const i32 previous = peer_at<Config::world>(launch.context, Config::world - 1);
  return block_wait_acquire(launch, own_flag<Config>(0), 0, previous, Wait::step);
}

template <typename Config>
__device__ void waits_in_a_function_by_all_but_the_first(const Context& context, const typename Config::Element* in,
                                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank != 0 && !previous_has_come(launch)) return;
  out[thread_index()] = in[thread_index()];
  if (context.rank != Config::world - 1) {
    block_signal_release(launch, own_flag<Config>(0), 0, peer_at<Config::world>(context, 1));
  }
}

template <typename Config>
__device__ void gathers_from_all_but_the_root(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank != 0) block_signal_release(launch, own_flag<Config>(context.rank), 0, 0);
  if (context.rank == 0) {
    for (i32 source = 1; source < Config::world; ++source) {
      if (!block_wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::arrival)) return;
    }
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void signals_each_but_itself(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  for (i32 peer = 0; peer < Config::world; ++peer) {
    if (peer != context.rank) block_signal_release(launch, own_flag<Config>(context.rank), 0, peer);
  }
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 source = peer_at<Config::world>(context, offset);
    if (!block_wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::arrival)) return;
  }
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void lets_the_root_signal_itself(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  if (context.rank == Config::root) {
    for (i32 peer = 0; peer < Config::world; ++peer) block_signal_release(launch, flag, 0, peer);
  }
  if (!block_wait_acquire(launch, flag, 0, Config::root, Wait::step)) return;
  out[thread_index()] = in[thread_index()];
}

template <typename Config>
__device__ void lets_blocks_of_two_kinds_signal_alike(const Context& context, const typename Config::Element* in,
                                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 flag = own_flag<Config>(block_index());
  if (block_index() == 0) {
    out[thread_index()] = in[thread_index()];
    block_signal_release(launch, flag, 0, 1);
  }
  if (block_index() != 0) block_signal_release(launch, flag, 0, 1);
  if (!block_wait_acquire(launch, flag, 0, 1, Wait::arrival)) return;
}
