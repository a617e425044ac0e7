#include <iris/device/barrier.hpp>
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

__device__ __forceinline__ void scatter(const Launch<Config>& launch, const Config::Element* input,
                                        Config::Element* output, i64 count) {
  const i64 chunks = chunks_of(count);
  for (i64 chunk = 0; chunk < chunks; ++chunk) {
#pragma unroll 1  // it gains nothing, and compilers take long over copies of the loop within
    for (i32 part = 0; part < parts; ++part) {
      const i32 peer = peer_at<Config::world>(launch.context, Config::world > 1 ? part + 1 : 0);
      Config::Element* const to = on_rank(launch.context, output, peer);
      for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), chunk_of_part(count, part, chunk),
                                                    [&](const auto& index) {
                                                      const auto values = load(input, index);
                                                      store(to, index, values);
                                                      if (to != output && input != output) store(output, index, values);
                                                    });
    }
    block_signal_release_all(launch, own_flag<Config>(block_index()), static_cast<u32>(chunk));
  }
}

__device__ __forceinline__ bool gather(const Launch<Config>& launch, Config::Element* output, i64 count) {
  const Context& context = launch.context;
  const i32 after_root = context.rank - Config::root;
  const i32 part = (after_root > 0 ? after_root : after_root + Config::world) - 1;
  const i64 chunks = chunks_of(count);
  const auto outputs = on_peers<Config::world>(context, output);
  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const u32 step = static_cast<u32>(chunk);
    if (!block_wait_acquire(launch, own_flag<Config>(block_index()), step, Config::root, Wait::step)) return false;
    for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), chunk_of_part(count, part, chunk),
                                                  [&](const auto& index) {
                                                    const auto values = load(output, index);
#pragma unroll
                                                    for (i32 offset = 1; offset < Config::world; ++offset) {
                                                      if (peer_at<Config::world>(context, offset) == Config::root)
                                                        continue;
                                                      store(outputs[offset], index, values);
                                                    }
                                                  });
  }
  return true;
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  if (context.rank == Config::root) {
    scatter(launch, input, output, m * n);
  } else if (!gather(launch, output, m * n)) {
    return;
  }

  same_block_barrier(launch, Wait::exit);
}
