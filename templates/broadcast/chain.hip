#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// From the root on, each rank passes what has come to the next one, chunk by chunk: every rank sends once, to one
// other. Each block moves its own share.
__device__ __forceinline__ bool pass_on(const Launch<Config>& launch, const Config::Element* input,
                                        Config::Element* output, i64 count) {
  const Context& context = launch.context;
  const bool first = context.rank == Config::root;
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  const i32 next = peer_at<Config::world>(context, Config::world > 1 ? 1 : 0);
  const bool last = next == Config::root;
  const bool copies = first && input != output;
  const Config::Element* const from = first ? input : output;
  Config::Element* const to = on_rank(context, output, next);
  const Range share = shard_of(count, Config::blocks, block_index(), Config::vector);
  const i64 chunks = divide_up(shard_of(count, Config::blocks, 0, Config::vector).end, Config::chunk);
  const i64 flag = own_flag<Config>(block_index());

  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const u32 step = static_cast<u32>(chunk);
    if (!first && !block_wait_acquire(launch, flag, step, previous, Wait::step)) return false;
    if (last && !copies) continue;
    const Range elements = chunk_of(share, chunk, Config::chunk, chunks);
    for_each_pack<Config::vector, Config::unroll>(block_threads<Config>(), elements, [&](const auto& index) {
      const auto values = load(from, index);
      if (!last) store(to, index, values);
      if (copies) store(output, index, values);
    });
    if (!last) block_signal_release(launch, flag, step, next);
  }
  return true;
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  if (!pass_on(launch, input, output, m * n)) return;
  same_block_barrier(launch, Wait::exit);
}
