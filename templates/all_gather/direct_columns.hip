#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Every rank pushes its rows of n elements into columns rank·n to rank·n + n - 1 of all outputs.
template <i32 vector>
__device__ __forceinline__ void push(const Context& context, const Config::Element* input, Config::Element* output,
                                     i64 m, i64 n) {
  const auto shards = on_peers<Config::world>(context, output + context.rank * n);
  for_each_pack_of_rows<vector, Config::unroll>(grid_threads<Config>(), m, n, [&](const auto& packs) {
    const auto values = load(input, packs.in(n));
    const auto places = packs.in(Config::world * n);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) store(shards[offset], places, values);
  });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  // Rows are aligned for packs if their length is a multiple of one.
  if (n % Config::vector == 0) {
    push<Config::vector>(context, input, output, m, n);
  } else {
    push<1>(context, input, output, m, n);
  }

  same_block_barrier(launch, Wait::exit);
}
