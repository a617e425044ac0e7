// All come, or all of those who need to.
#include <iris/device/barrier.hpp>
#include <iris/device/main_loop.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void syncs_all_threads(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  if (thread_index() == 0) out[block_index()] = 1;
  sync_block();
  if (n > 4) sync_block();
}

template <typename Config>
__device__ void syncs_behind_a_loop_of_unequal_length(const Context& context, typename Config::Element* out, i64 m,
                                                      i64 n) {
  for (i64 i = thread_index(); i < n; i += Config::threads) out[i] = 1;
  sync_block();
}

template <typename Config>
__device__ void loops_over_what_all_threads_count(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  for (i64 row = block_index(); row < m; row += Config::blocks) {
    for (i64 i = thread_index(); i < n; i += Config::threads) {
      if (i == 3) continue;
      out[row * n + i] = 1;
    }
    sync_block();
  }
}

template <typename Config>
__device__ void agrees_before_it_leaves(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  bool arrived = true;
  for (i32 source = thread_index(); source < Config::world; source += Config::threads) {
    arrived = wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::step) && arrived;
  }
  if (!sync_block_and(arrived)) return;
  out[thread_index()] = 1;
  sync_block();
}

template <typename Config>
__device__ void signals_by_one_thread(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  store(context, out + thread_index(), static_cast<typename Config::Element>(1), 1);
  sync_block_after_stores();
  if (thread_index() == 0) signal_release(launch, own_flag<Config>(0), 0, 1);
}

template <typename Config>
__device__ void lets_blocks_do_other_things(const Context& context, typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (block_index() < 2) {
    if (!same_block_barrier(launch, Wait::entry)) return;
    store(context, out + thread_index(), static_cast<typename Config::Element>(1), 1);
    same_block_barrier(launch, Wait::exit);
  } else {
    out[thread_index()] = 1;
    sync_block();
  }
}

template <typename Config>
__device__ void passes_as_many_on_either_side(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (context.rank == Config::root) {
    store(context, out + thread_index(), in[thread_index()], 0);
    if (!same_block_barrier(launch, Wait::entry)) return;
  } else {
    if (!same_block_barrier(launch, Wait::entry)) return;
    out[thread_index()] = 2;
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ bool scatter(const Launch<Config>& launch, typename Config::Element* out) {
  if (launch.context.rank == Config::root) {
    block_signal_release_all(launch, own_flag<Config>(block_index()), 0);
    return true;
  }
  return block_wait_acquire(launch, own_flag<Config>(block_index()), 0, Config::root, Wait::step);
}

template <typename Config>
__device__ void lets_ranks_signal_and_wait_differently(const Context& context, const typename Config::Element* in,
                                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  if (!scatter(launch, out)) return;
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void passes_chunks_down_a_chain(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool first = context.rank == 0;
  const bool last = context.rank == Config::world - 1;
  const i32 next = peer_at<Config::world>(context, 1);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  for (u32 chunk = 0; chunk < 4; ++chunk) {
    if (!first && !block_wait_acquire(launch, own_flag<Config>(0), chunk, previous, Wait::step)) return;
    if (last) continue;
    store(context, out + chunk, in[chunk], next);
    block_signal_release(launch, own_flag<Config>(0), chunk, next);
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void chooses_by_constants_and_extents(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if constexpr (Config::world > 1) {
    if (!same_block_barrier(launch, Wait::entry)) return;
  }
  if (m > n) {
    if (!same_block_barrier(launch, Wait::step)) return;
  }
  for (i64 row = 0; row < m; ++row) {
    if (!same_block_barrier(launch, Wait::step)) return;
  }
}

template <typename Config>
__device__ void counts_rounds_alike_on_all_ranks(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 rounds = divide_up(shard_of(m * n, Config::world, 0, 1).end, 4);
  const Range mine = shard_of(m * n, Config::world, context.rank, 1);
  for (i64 round = 0; round < rounds; ++round) {
    const Range part = chunk_of(mine, round, 4);
    for (i64 i = part.begin + thread_index(); i < part.end; i += Config::threads) out[i] = in[i];
    if (!same_block_barrier(launch, Wait::step)) return;
  }
}
