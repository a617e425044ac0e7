#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// The root pushes its input into all outputs, once the other ranks have entered; they leave when all has arrived.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  if (context.rank == Config::root) {
    const auto outputs = on_peers<Config::world>(context, output);
    for_each_pack<Config::vector, Config::unroll>(grid_threads<Config>(), {0, m * n}, [&](const auto& index) {
      const auto values = load(input, index);
#pragma unroll
      for (i32 offset = 0; offset < Config::world; ++offset) store(outputs[offset], index, values);
    });
  }

  same_block_barrier(launch, Wait::exit);
}
