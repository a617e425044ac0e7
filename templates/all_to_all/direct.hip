#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Input and output are m rows of `world` shards of n elements. Rank r pushes shard p of each of its rows into shard r
// of the same row on rank p.
template <i32 vector>
__device__ __forceinline__ void exchange(const Context& context, const Config::Element* input, Config::Element* output,
                                         i64 m, i64 n) {
  const auto shards_of_rank = on_peers<Config::world>(context, output + context.rank * n);
  for_each_pack_of_rows<vector, Config::unroll>(
      grid_threads<Config>(), m, n, [&]<int count>(const RowPacks<vector, count>& packs) {
        const auto places = packs.in(Config::world * n);
        Packs<Config::Element, vector, count> shards[Config::world];
#pragma unroll
        for (i32 offset = 0; offset < Config::world; ++offset) {
          shards[offset] = load(input + peer_at<Config::world>(context, offset) * n, places);
        }
#pragma unroll
        for (i32 offset = 0; offset < Config::world; ++offset) store(shards_of_rank[offset], places, shards[offset]);
      });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  // Shards are aligned for packs if their length is a multiple of one.
  if (n % Config::vector == 0) {
    exchange<Config::vector>(context, input, output, m, n);
  } else {
    exchange<1>(context, input, output, m, n);
  }

  same_block_barrier(launch, Wait::exit);
}
