#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Every rank pushes its input into shard `rank` of all outputs. A thread reads an element before it writes it, and
// nobody else writes it there, so the input may be that shard of the rank's own output.
template <i32 vector>
__device__ __forceinline__ void push(const Context& context, const Config::Element* input, Config::Element* shard,
                                     i64 count) {
  const auto shards = on_peers<Config::world>(context, shard);
  for_each_pack<vector, Config::unroll>(grid_threads<Config>(), {0, count}, [&](const auto& index) {
    const auto values = load(input, index);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) store(shards[offset], index, values);
  });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  // Shards are aligned for packs if their length is a multiple of one.
  const i64 count = m * n;
  Config::Element* const shard = output + context.rank * count;
  if (count % Config::vector == 0) {
    push<Config::vector>(context, input, shard, count);
  } else {
    push<1>(context, input, shard, count);
  }

  same_block_barrier(launch, Wait::exit);
}
