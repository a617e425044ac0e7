#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every rank pulls its shard of all inputs and reduces it into its output. Nobody else reads that shard of its own
// input, and one thread reads an element before it writes it, so the output may be that shard.
template <i32 vector>
__device__ __forceinline__ void pull(const Config::Element* const (&shards)[Config::world],
                                     const Output<Config>& output, i64 count) {
  for_each_pack<vector, Config::unroll>(grid_threads<Config>(), {0, count}, [&](const auto& index) {
    store(output.data, index, output.finish(index, load_and_reduce<Config, Config::Operation>(shards, index)));
  });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const i64 count = m * n;
  const Config::Element* shards[Config::world];
  const i32 window = window_of(context, input);
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) {
    shards[rank] = on_rank_in(context, window, input + context.rank * count, rank);
  }
  // Shards are aligned for packs if their length is a multiple of one.
  if (count % Config::vector == 0) {
    pull<Config::vector>(shards, output, count);
  } else {
    pull<1>(shards, output, count);
  }

  same_block_barrier(launch, Wait::exit);
}
