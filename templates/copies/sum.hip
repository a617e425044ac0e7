#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Copy engines have brought the blocks of m / world rows that all ranks have made for this one, and in its own stream
// none comes later: once that holds for every rank, they are summed.
template <i32 vector>
__device__ __forceinline__ void sum(const Config::Element* const (&blocks)[Config::world], const Output<Config>& output,
                                    i64 count) {
  for_each_pack<vector, Config::unroll>(grid_threads<Config>(), {0, count}, [&](const auto& index) {
    store(output.data, index, output.finish(index, load_and_reduce<Config, Sum>(blocks, index)));
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
    sum<Config::vector>(blocks, output, count);
  } else {
    sum<1>(blocks, output, count);
  }
}
