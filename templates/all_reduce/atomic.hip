#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every output begins as its own rank's input, and each rank adds its input to all others, an atomic for each element.
// They come in any order: sums may differ in the last bits from launch to launch, and from rank to rank. Block b works
// on the same shard on all ranks.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Result* output,
                                       i64 m, i64 n) {
  const Range shard = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  const ThreadGroup threads = block_threads<Config>();
  Launch<Config> launch(context);

  for_each_pack<Config::vector, Config::unroll>(threads, shard,
                                                [&](const auto& index) { store(output, index, load(input, index)); });
  if (!same_block_barrier(launch, Wait::entry)) return;

  const i32 window = window_of(context, output);
  // Neighbouring threads add to neighbouring elements, so that the atomics of a wave travel together.
  for_each_pack<1, Config::unroll>(threads, shard, [&](const auto& index) {
    const auto values = load(input, index);
#pragma unroll
    for (i32 offset = 1; offset < Config::world; ++offset) {
      Config::Result* const theirs = on_rank_in(context, window, output, peer_at<Config::world>(context, offset));
#pragma unroll
      for (int i = 0; i < index.count; ++i) atomic_add(theirs + index[i], values.packs[i][0]);
    }
  });

  same_block_barrier(launch, Wait::exit);
}
