#include <iris/device/barrier.hpp>
#include <iris/device/push_and_reduce.hpp>

#include "../sample_config.hpp"

// Some blocks push the others' shards of this rank's input to them, the rest reduce what has come of its own. Nobody
// else reads that shard of its own input, and one thread reads an element before it writes it, so the output may be
// that shard.
struct Shards {
  i64 count;

  __device__ __forceinline__ i64 longest() const { return count; }
  __device__ __forceinline__ Range of(i32 rank) const { return {rank * count, (rank + 1) * count}; }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Shards shards = {m * n};
  const auto store_sums = [&](const auto& index, const auto& sums) {
    store(output.data, index, output.finish(index, sums));
  };
  // Without chunks a barrier makes sure that all have started the launch. After either there is nothing left to do.
  if (shards.count == 0) {
    same_block_barrier(launch, Wait::exit);
  } else if (shards.count % Config::vector == 0) {  // else shards are not aligned for packs
    push_and_reduce<Config::vector>(launch, shards, input, store_sums);
  } else {
    push_and_reduce<1>(launch, shards, input, store_sums);
  }
}
