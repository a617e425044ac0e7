#include <iris/device/reduce.hpp>
#include <iris/device/signal.hpp>

#include "../sample_config.hpp"

// Partial results travel 0 → 1 → … → world - 1, through the workspace; results travel on world - 1 → 0 → … → world - 2,
// from output to output. Each block moves its own shard of the data, chunk by chunk, and its own two flags show the
// chunks that it has passed on.
//
// A result exists only once every rank has contributed to it: then each rank has started this launch, its input has
// been read, and its output may be overwritten. For the same reason a launch ends on no rank before every rank has left
// the launch before, so nobody still reads the ping-pong buffer that the next launch fills.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  using Accumulate = Config::Accumulate;
  const Range shard = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  const i64 longest_shard = shard_of(m * n, Config::blocks, 0, Config::vector).end;
  const i64 chunks = longest_shard == 0 ? 1 : divide_up(longest_shard, Config::chunk);
  const ThreadGroup threads = block_threads<Config>();
  Launch<Config> launch(context);

  const bool first = context.rank == 0;
  const bool last = context.rank == Config::world - 1;
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  const i32 next = peer_at<Config::world>(context, Config::world > 1 ? 1 : 0);
  const i64 partial_flag = own_flag<Config>(2 * i64{block_index()});
  const i64 result_flag = partial_flag + 1;

  const Accumulate* const partials = launch.workspace<Accumulate>();
  Accumulate* const next_partials = heap_on_rank(context, launch.workspace<Accumulate>(), next);
  Config::Result* const next_output = on_rank(context, output.data, next);

  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const u32 step = static_cast<u32>(chunk);
    if (!first && !block_wait_acquire(launch, partial_flag, step, previous, Wait::step)) return;
    const Range elements = chunk_of(shard, chunk, Config::chunk, chunks);
    for_each_pack<Config::vector, Config::unroll>(threads, elements, [&](const auto& index) {
      auto sums = contributions<Config>(load(input, index));
      if (!first) sums = combine<Config::Operation>(load(partials, index), sums);
      if (!last) {
        store(next_partials, index, sums);
      } else {
        const auto result = output.finish(index, sums);
        store(output.data, index, result);
        store(next_output, index, result);
      }
    });
    block_signal_release(launch, last ? result_flag : partial_flag, step, next);
  }

  for (i64 chunk = 0; !last && chunk < chunks; ++chunk) {
    const u32 step = static_cast<u32>(chunk);
    if (!block_wait_acquire(launch, result_flag, step, previous, Wait::step)) return;
    if (next == Config::world - 1) continue;  // it made the results
    const Range elements = chunk_of(shard, chunk, Config::chunk, chunks);
    for_each_pack<Config::vector, Config::unroll>(
        threads, elements, [&](const auto& index) { store(next_output, index, load(output.data, index)); });
    block_signal_release(launch, result_flag, step, next);
  }
}
