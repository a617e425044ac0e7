#include <iris/device/barrier.hpp>
#include <iris/device/push_and_reduce.hpp>

#include "../sample_config.hpp"

// Some blocks push the others' shards of this rank's input to them, the rest reduce what has come of its own and push
// the result into all outputs. A result is written where all have read their inputs, so the output may be the input.
struct Shards {
  i64 count;

  __device__ __forceinline__ i64 longest() const { return of(0).end; }
  __device__ __forceinline__ Range of(i32 rank) const { return shard_of(count, Config::world, rank, Config::vector); }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Shards shards = {m * n};
  if (shards.count > 0) {
    const i64 begin = shards.of(context.rank).begin;
    const auto outputs = on_peers<Config::world>(context, output.data);
    const auto store_sums = [&](const auto& in_shard, const auto& sums) {
      const auto index = in_shard.behind(begin);
      const auto result = output.finish(index, sums);
#pragma unroll
      for (i32 offset = 0; offset < Config::world; ++offset) store(outputs[offset], index, result);
    };
    if (!push_and_reduce<Config::vector>(launch, shards, input, store_sums)) return;
  }
  same_block_barrier(launch, Wait::exit);
}
