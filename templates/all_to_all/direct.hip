#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Input and output are m rows of `world` shards of n elements. Rank r pushes shard p of each of its rows into shard r
// of the same row on rank p.
template <i32 vector>
__device__ __forceinline__ void exchange(const Context& context, const Config::Element* input, Config::Element* output,
                                         i64 m, i64 n) {
  for_each_pack<vector, 1>(grid_threads<Config>(), {0, m * n}, [&]<int width>(const PackIndex<width, 1>& index) {
    using Place = PackIndex<width, 1>;
    const i64 row = index[0] / n;
    const i64 column = index[0] % n;
    const i64 begin = row * Config::world * n + column;
    Packs<Config::Element, width, 1> values[Config::world];
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      values[offset] = load(input, Place{begin + peer_at<Config::world>(context, offset) * n, 0});
    }
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      Config::Element* const to = on_rank(context, output, peer_at<Config::world>(context, offset));
      store(to, Place{begin + context.rank * n, 0}, values[offset]);
    }
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
