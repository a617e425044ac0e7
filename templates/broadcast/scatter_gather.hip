#include <iris/device/barrier.hpp>
#include <iris/device/pipeline.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// The root sends each other rank a part of its input, and who has got a chunk of its part passes it on to the rest. So
// the root sends its input once, and each other rank most of a part to all (van de Geijn's scatter and all-gather, of
// which the chunks make a pipeline). Each block moves its own share of every part.
constexpr i32 parts = Config::world > 1 ? Config::world - 1 : 1;

// Those of the longest share: every rank counts as many steps.
__device__ __forceinline__ i64 chunks_of(i64 count) {
  const Range whole = shard_of(count, parts, 0, Config::vector);
  const Range share = shard_of(whole.end, Config::blocks, 0, Config::vector);
  return divide_up(share.end, Config::chunk);
}

__device__ __forceinline__ Range chunk_of_part(i64 count, i32 part, i64 chunk) {
  const Range whole = shard_of(count, parts, part, Config::vector);
  const Range share = shard_of(whole.end - whole.begin, Config::blocks, block_index(), Config::vector);
  return chunk_of({whole.begin + share.begin, whole.begin + share.end}, chunk, Config::chunk, chunks_of(count));
}

__device__ __forceinline__ i64 flag_of_root() {
  return own_flag<Config>(block_index());
}

// What the root does with a chunk of every part.
struct Scatter {
  const Launch<Config>& launch;
  const Config::Element* input;
  Config::Element* output;
  i64 count;

  __device__ __forceinline__ bool has_come(i64 /*chunk*/) const { return true; }
  __device__ __forceinline__ bool wait(i64 /*chunk*/) const { return true; }
  __device__ __forceinline__ void move(i64 chunk, ThreadGroup threads) const {
#pragma unroll 1  // it gains nothing, and compilers take long over copies of the loop within
    for (i32 turn = 0; turn < parts; ++turn) {
      const i32 part = (block_index() + turn) % parts;  // blocks begin with different ones, so that all links are busy
      const i32 peer = peer_at<Config::world>(launch.context, Config::world > 1 ? part + 1 : 0);
      Config::Element* const to = on_rank(launch.context, output, peer);
      for_each_pack<Config::vector, Config::unroll>(threads, chunk_of_part(count, part, chunk), [&](const auto& index) {
        const auto values = load(input, index);
        store(to, index, values);
        if (to != output && input != output) store(output, index, values);
      });
    }
  }
  __device__ __forceinline__ void announce(i64 chunk, i32 lane) const {
#pragma unroll 1
    for (i32 offset = 1 + lane; offset < Config::world; offset += wave_size) {
      const i32 peer = peer_at<Config::world>(launch.context, offset);
      signal_release(launch, flag_of_root(), static_cast<u32>(chunk), peer);
    }
  }
};

// What the others do with the chunks of their part.
struct Gather {
  const Launch<Config>& launch;
  Config::Element* output;
  i64 count;

  __device__ __forceinline__ bool has_come(i64 chunk) const {
    return iris::device::has_come(launch, flag_of_root(), static_cast<u32>(chunk));
  }
  __device__ __forceinline__ bool wait(i64 chunk) const {
    return wait_acquire(launch, flag_of_root(), static_cast<u32>(chunk), Config::root, Wait::step);
  }
  __device__ __forceinline__ void move(i64 chunk, ThreadGroup threads) const {
    const i32 after_root = launch.context.rank - Config::root;
    const i32 part = (after_root > 0 ? after_root : after_root + Config::world) - 1;
    const auto outputs = on_peers<Config::world>(launch.context, output);
    for_each_pack<Config::vector, Config::unroll>(threads, chunk_of_part(count, part, chunk), [&](const auto& index) {
      const auto values = load(output, index);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        if (peer_at<Config::world>(launch.context, offset) != Config::root) store(outputs[offset], index, values);
      }
    });
  }
  __device__ __forceinline__ void announce(i64 /*chunk*/, i32 /*lane*/) const {}
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  const i64 count = m * n;
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const i64 chunks = chunks_of(count);
  if (context.rank == Config::root) {
    if (!pass_on<Config>(chunks, Scatter{launch, input, output, count})) return;
  } else {
    if (!pass_on<Config>(chunks, Gather{launch, output, count})) return;
  }

  same_block_barrier(launch, Wait::exit);
}
