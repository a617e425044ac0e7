#pragma once

#include <iris/device/pipeline.hpp>
#include <iris/device/reduce.hpp>

/// A reduce-scatter whose blocks have two roles: the first Config::comm_blocks of them push the other ranks' shards of
/// this rank's input to them, chunk by chunk, and the rest reduce what has come of its own. Stores to other ranks pass
/// links faster than loads from them, and no barrier is needed. Chunks arrive in a ring of Config::ring slots, one for
/// each source, in the launch's ping-pong buffer; who has read a slot tells those who fill it.
///
/// Where a launch has chunks, its sums have waited for those of every rank, so that each has started this launch, and
/// thus left the one before, before the next one refills the other ping-pong buffer.
namespace iris::device {

template <typename Config>
inline constexpr i32 pushing_blocks = Config::comm_blocks;
template <typename Config>
inline constexpr i32 reducing_blocks = Config::blocks - Config::comm_blocks;

/// The chunks of all shards, of which the longest has so many elements. A shard is cut into a share for each pushing
/// block, and that into chunks, of which every share counts as many as the longest one. All ranks number them alike:
/// the first of every share, then the second. Reducing blocks take them in turn.
template <typename Config>
struct ShardChunks {
  i64 longest;

  __device__ __forceinline__ i64 of_share() const {
    return divide_up(shard_of(longest, pushing_blocks<Config>, 0, Config::vector).end, Config::chunk);
  }
  __device__ __forceinline__ i64 total() const { return of_share() * pushing_blocks<Config>; }
  /// Within a shard of so many elements.
  __device__ __forceinline__ Range at(i64 number, i64 count) const {
    const i32 share = static_cast<i32>(number % pushing_blocks<Config>);
    return chunk_of(shard_of(count, pushing_blocks<Config>, share, Config::vector), number / pushing_blocks<Config>,
                    Config::chunk, of_share());
  }
};

/// One of the two roles, a Stage of pass_on().
template <typename Config>
struct ShardRole {
  using Element = typename Config::Element;

  const Launch<Config>& launch;
  ShardChunks<Config> chunks;
  Element* ring;

  __device__ __forceinline__ Element* slot(i32 source, i64 number) const {
    return ring + (i64{source} * Config::ring + number % Config::ring) * Config::chunk;
  }

  /// What ranks tell each other in, one flag for each of them.
  struct Flags {
    i64 first;
    u32 step;
  };
  /// That they have pushed a chunk.
  __device__ __forceinline__ static Flags pushed(i64 number) {
    constexpr i64 blocks = pushing_blocks<Config>;
    return {own_flag<Config>(number % blocks * Config::world), static_cast<u32>(number / blocks)};
  }
  /// That they have read it.
  __device__ __forceinline__ static Flags read(i64 number) {
    constexpr i64 blocks = reducing_blocks<Config>;
    return {own_flag<Config>((pushing_blocks<Config> + number % blocks) * Config::world),
            static_cast<u32>(number / blocks)};
  }

  __device__ __forceinline__ bool all_have_come(const Flags& flags) const {
    bool all = true;
#pragma unroll 1
    for (i32 offset = 1; offset < Config::world; ++offset) {
      all = iris::device::has_come(launch, flags.first + peer_at<Config::world>(launch.context, offset), flags.step) &&
            all;
    }
    return all;
  }
  __device__ __forceinline__ bool wait_for_all(const Flags& flags) const {
    bool all = true;
#pragma unroll 1
    for (i32 offset = 1; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(launch.context, offset);
      all = all && wait_acquire(launch, flags.first + peer, flags.step, peer, Wait::step);
    }
    return all;
  }
  __device__ __forceinline__ void tell_all(const Flags& flags, i32 lane) const {
#pragma unroll 1
    for (i32 offset = 1 + lane; offset < Config::world; offset += wave_size) {
      signal_release(launch, flags.first + launch.context.rank, flags.step,
                     peer_at<Config::world>(launch.context, offset));
    }
  }
};

template <i32 vector, typename Config, typename Shards>
struct PushShards : ShardRole<Config> {
  using Role = ShardRole<Config>;
  const Shards& shards;
  const typename Config::Element* input;

  __device__ __forceinline__ static i64 number(i64 step) { return step * pushing_blocks<Config> + block_index(); }
  __device__ __forceinline__ i64 steps() const { return this->chunks.of_share(); }

  __device__ __forceinline__ bool has_come(i64 step) const {
    return number(step) < Config::ring || this->all_have_come(Role::read(number(step) - Config::ring));
  }
  __device__ __forceinline__ bool wait(i64 step) const {
    return this->wait_for_all(Role::read(number(step) - Config::ring));
  }
  __device__ __forceinline__ void move(i64 step, ThreadGroup threads) const {
    constexpr i32 others = Config::world > 1 ? Config::world - 1 : 1;
    const Context& context = this->launch.context;
#pragma unroll 1
    for (i32 turn = 1; turn < Config::world; ++turn) {
      // Blocks begin with different ones, so that all links are busy.
      const i32 peer = peer_at<Config::world>(context, 1 + (block_index() + turn) % others);
      const Range shard = shards.of(peer);
      const Range range = this->chunks.at(number(step), shard.end - shard.begin);
      const auto* const from = input + shard.begin + range.begin;
      auto* const to = heap_on_rank(context, this->slot(context.rank, number(step)), peer);
      for_each_pack<vector, Config::unroll>(threads, {0, range.end - range.begin},
                                            [&](const auto& index) { store(to, index, load(from, index)); });
    }
  }
  __device__ __forceinline__ void announce(i64 step, i32 lane) const {
    this->tell_all(Role::pushed(number(step)), lane);
  }
};

template <i32 vector, typename Config, typename Shards, typename Store>
struct ReduceShard : ShardRole<Config> {
  using Role = ShardRole<Config>;
  const Shards& shards;
  const typename Config::Element* input;
  const Store& store_sums;

  __device__ __forceinline__ static i64 number(i64 step) {
    return step * reducing_blocks<Config> + block_index() - pushing_blocks<Config>;
  }
  __device__ __forceinline__ i64 steps() const {
    return divide_up(this->chunks.total() - number(0), reducing_blocks<Config>);
  }

  __device__ __forceinline__ bool has_come(i64 step) const { return this->all_have_come(Role::pushed(number(step))); }
  __device__ __forceinline__ bool wait(i64 step) const { return this->wait_for_all(Role::pushed(number(step))); }
  __device__ __forceinline__ void move(i64 step, ThreadGroup threads) const {
    const i32 own = this->launch.context.rank;
    const Range shard = shards.of(own);
    const Range range = this->chunks.at(number(step), shard.end - shard.begin);
    const typename Config::Element* sources[Config::world];
#pragma unroll
    for (i32 rank = 0; rank < Config::world; ++rank) {
      sources[rank] = rank == own ? input + shard.begin : this->slot(rank, number(step)) - range.begin;
    }
    for_each_pack<vector, Config::unroll>(threads, range, [&](const auto& index) {
      store_sums(index, load_and_reduce<Config, typename Config::Operation>(sources, index));
    });
  }
  __device__ __forceinline__ void announce(i64 step, i32 lane) const {
    if (number(step) + Config::ring < this->chunks.total()) this->tell_all(Role::read(number(step)), lane);
  }
};

/// Whole blocks together. `shards.of(rank)` are the elements of `input` that rank `rank` reduces, `shards.longest()`
/// how many one of them has at most, which is not 0; accesses of `vector` are aligned in each. Calls store_sums(index,
/// sums) for each of this rank's, counted from where its shard begins, once every rank's input has been read there but
/// for this one's, which the same thread has. False on every thread, with the fault recorded, if a wait took too long.
template <i32 vector, typename Config, typename Shards, typename Store>
__device__ __forceinline__ bool push_and_reduce(const Launch<Config>& launch, const Shards& shards,
                                                const typename Config::Element* input, const Store& store_sums) {
  const ShardRole<Config> role = {launch, {shards.longest()}, launch.template workspace<typename Config::Element>()};
  if (block_index() < pushing_blocks<Config>) {
    const PushShards<vector, Config, Shards> push = {role, shards, input};
    return pass_on<Config>(push.steps(), push);
  }
  const ReduceShard<vector, Config, Shards, Store> reduce = {role, shards, input, store_sums};
  return pass_on<Config>(reduce.steps(), reduce);
}

}  // namespace iris::device
