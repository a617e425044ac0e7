#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Every rank pushes its rows of n elements into columns rank·n to rank·n + n - 1 of all outputs.
template <i32 vector>
__device__ __forceinline__ void push(const Context& context, const Config::Element* input, Config::Element* output,
                                     i64 m, i64 n) {
  for_each_pack<vector, 1>(grid_threads<Config>(), {0, m * n}, [&]<int width>(const PackIndex<width, 1>& index) {
    const i64 row = index[0] / n;
    const i64 column = index[0] % n;
    const PackIndex<width, 1> place = {(row * Config::world + context.rank) * n + column, 0};
    const auto values = load(input, index);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      store(on_rank(context, output, peer_at<Config::world>(context, offset)), place, values);
    }
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
