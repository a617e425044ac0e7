#pragma once

#include <iris/device/pipeline.hpp>
#include <iris/device/reduce.hpp>

/// A reduce-scatter whose blocks have two roles: the first Config::comm_blocks of them push the other ranks' shards of
/// this rank's input to them, chunk by chunk, and the rest reduce what has come of its own. Stores to other ranks pass
/// links faster than loads from them, and flags that tell of chunks spare the barriers.
///
/// Each rank has a ring of Config::ring slots for every other one, in the launch's ping-pong buffer. A slot is filled
/// again once its reader has told that it has read it. No launch waits for the last ring of chunks to be read: whoever
/// fills the same buffer again, two launches later, knows that all had started the launch between, since it has waited
/// for their chunks of that one.
namespace iris::device {

template <typename Config>
inline constexpr i32 pushing_blocks = Config::comm_blocks;
template <typename Config>
inline constexpr i32 reducing_blocks = Config::blocks - Config::comm_blocks;

/// The chunks of all shards, of which the longest has so many elements. A shard is cut into a share for each pushing
/// block, and a share into chunks; each share counts as many as the longest one, the last of which may be empty. All
/// ranks number them alike: the first chunk of every share, then the second of every share, and so on. Reducing blocks
/// take them in turn.
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

/// What both roles know: where chunks are on their way, and the flags by which ranks tell each other of them.
template <typename Config>
struct ShardRole {
  using Element = typename Config::Element;

  const Launch<Config>& launch;
  ShardChunks<Config> chunks;
  Element* rings;

  /// Where a chunk arrives on the rank that reduces it, from that which is `offset` after it, 1 or more.
  __device__ __forceinline__ Element* slot(i32 offset, i64 number) const {
    return rings + (i64{offset - 1} * Config::ring + number % Config::ring) * Config::chunk;
  }

  /// One for each rank, from the first on, and the step that it has to come to.
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

  /// A thread for each of the others, as far as a block has so many.
  static constexpr i32 looking_threads = Config::threads < Config::world - 1 ? Config::threads : Config::world - 1;

  /// Of those peers that are this thread's own.
  __device__ __forceinline__ bool have_come(const Flags& flags) const {
    bool all = true;
#pragma unroll 1
    for (i32 offset = 1 + thread_index(); offset < Config::world; offset = next_own_peer<Config>(offset)) {
      const i32 peer = peer_at<Config::world>(launch.context, offset);
      all = iris::device::has_come(launch, flags.first + peer, flags.step) && all;
    }
    return all;
  }
  __device__ __forceinline__ bool wait_for(const Flags& flags) const {
    bool all = true;
#pragma unroll 1
    for (i32 offset = 1 + thread_index(); offset < Config::world; offset = next_own_peer<Config>(offset)) {
      const i32 peer = peer_at<Config::world>(launch.context, offset);
      all = wait_acquire(launch, flags.first + peer, flags.step, peer, Wait::step) && all;
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

/// A Stage of pass_on() that pushes this block's share of all other shards.
template <i32 vector, typename Config, typename Shards>
struct PushShards : ShardRole<Config> {
  using Role = ShardRole<Config>;
  const Shards& shards;
  const typename Config::Element* input;

  __device__ __forceinline__ static i64 number(i64 step) { return step * pushing_blocks<Config> + block_index(); }
  __device__ __forceinline__ i64 steps() const { return this->chunks.of_share(); }

  __device__ __forceinline__ bool has_come(i64 step) const {
    return number(step) < Config::ring || this->have_come(Role::read(number(step) - Config::ring));
  }
  __device__ __forceinline__ bool wait(i64 step) const {
    return this->wait_for(Role::read(number(step) - Config::ring));
  }
  __device__ __forceinline__ void move(i64 step, ThreadGroup threads) const {
    constexpr i32 others = Config::world > 1 ? Config::world - 1 : 1;
    const Context& context = this->launch.context;
#pragma unroll 1
    for (i32 turn = 1; turn < Config::world; ++turn) {
      const i32 offset = 1 + (block_index() + turn) % others;  // blocks begin with different ones: all links are busy
      const i32 peer = peer_at<Config::world>(context, offset);
      const Range shard = shards.of(peer);
      const Range range = this->chunks.at(number(step), shard.end - shard.begin);
      const auto* const from = input + shard.begin + range.begin;
      auto* const to = heap_on_rank(context, this->slot(Config::world - offset, number(step)), peer);
      for_each_pack<vector, Config::unroll>(threads, {0, range.end - range.begin},
                                            [&](const auto& index) { store(to, index, load(from, index)); });
    }
  }
  __device__ __forceinline__ void announce(i64 step, i32 lane) const {
    this->tell_all(Role::pushed(number(step)), lane);
  }
};

/// A Stage of pass_on() that reduces the chunks of this rank's shard that are this block's.
template <i32 vector, typename Config, typename Shards, typename Store>
struct ReduceShard : ShardRole<Config> {
  using Role = ShardRole<Config>;
  const Shards& shards;
  const typename Config::Element* input;
  const Store& store_sums;

  __device__ __forceinline__ static i64 number(i64 step) {
    return step * reducing_blocks<Config> + block_index() - pushing_blocks<Config>;
  }
  /// None of a block whose first chunk is not there.
  __device__ __forceinline__ i64 steps() const {
    const i64 left = this->chunks.total() - number(0);
    return left > 0 ? divide_up(left, reducing_blocks<Config>) : 0;
  }

  __device__ __forceinline__ bool has_come(i64 step) const { return this->have_come(Role::pushed(number(step))); }
  __device__ __forceinline__ bool wait(i64 step) const { return this->wait_for(Role::pushed(number(step))); }
  __device__ __forceinline__ void move(i64 step, ThreadGroup threads) const {
    const i32 own = this->launch.context.rank;
    const Range shard = shards.of(own);
    const Range range = this->chunks.at(number(step), shard.end - shard.begin);
    const typename Config::Element* sources[Config::world];
#pragma unroll
    for (i32 rank = 0; rank < Config::world; ++rank) {
      const i32 offset = rank < own ? rank - own + Config::world : rank - own;
      sources[rank] = rank == own ? input + shard.begin : this->slot(offset, number(step)) - range.begin;
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
