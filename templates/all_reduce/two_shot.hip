#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Rank r reduces shard r of all inputs and pushes the result into all outputs. One thread reads an element on every
// rank before it writes it on any, so the output may be the input.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const Config::Element* inputs[Config::world];
  const i32 window = window_of(context, input);
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) inputs[rank] = on_rank_in(context, window, input, rank);
  const auto outputs = on_peers<Config::world>(context, output.data);
  const Range shard = shard_of(m * n, Config::world, context.rank, Config::vector);
  for_each_pack<Config::vector, Config::unroll>(grid_threads<Config>(), shard, [&](const auto& index) {
    const auto result = output.finish(index, load_and_reduce<Config, Config::Operation>(inputs, index));
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) store(outputs[offset], index, result);
  });

  same_block_barrier(launch, Wait::exit);
}
