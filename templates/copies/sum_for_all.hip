#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Copy engines have brought the blocks of m / world rows that all ranks have made for this one, and in its own stream
// none comes later: once that holds for every rank, the sums go to all of them.
template <i32 vector>
__device__ __forceinline__ void sum_for_all(const Context& context,
                                            const Config::Element* const (&blocks)[Config::world],
                                            const Output<Config>& output, i64 count) {
  const i64 begin = context.rank * count;
  const auto outputs = on_peers<Config::world>(context, output.data + begin);
  for_each_pack<vector, Config::unroll>(grid_threads<Config>(), {0, count}, [&](const auto& index) {
    const auto sums = output.finish(index.behind(begin), load_and_reduce<Config, Sum>(blocks, index));
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) store(outputs[offset], index, sums);
  });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* arrived,
                                       const Output<Config>& output, i64 m, i64 n, i64 /*k*/) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const i64 count = m / Config::world * n;
  const Config::Element* blocks[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) blocks[rank] = arrived + rank * count;
  // Blocks are aligned for packs if their length is a multiple of one.
  if (count % Config::vector == 0) {
    sum_for_all<Config::vector>(context, blocks, output, count);
  } else {
    sum_for_all<1>(context, blocks, output, count);
  }

  same_block_barrier(launch, Wait::exit);
}
