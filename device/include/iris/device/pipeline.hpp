#pragma once

#include <iris/device/partition.hpp>
#include <iris/device/signal.hpp>

/// Messages that a block passes on chunk by chunk.
namespace iris::device {

/// How many of a block's threads move chunks: all but those of the last wave, where there are several.
template <typename Config>
inline constexpr i32 moving_threads = Config::threads - (Config::threads > wave_size ? wave_size : 0);

/// How many of a block's threads look whether chunks have come: one, or as many as the Stage says.
template <typename Stage>
__device__ constexpr i32 looking_threads() {
  if constexpr (requires { Stage::looking_threads; }) {
    return Stage::looking_threads;
  } else {
    return 1;
  }
}

/// Passes on chunks 0 to `chunks` - 1, whole blocks together. While the others move a chunk, and look for the next, the
/// last wave announces the one before: a release takes as long as the stores before it need to arrive.
///
/// A Stage knows where chunks come from and where they go. The first thread, or the first looking_threads of a Stage,
/// asks `has_come(chunk)`, which does not wait, and `wait(chunk)`, false with the fault recorded if that took too long.
/// `move(chunk, threads)` is called by all that move it, and then, by each thread of a wave with its number in that,
/// `announce(chunk, lane)`, whose release publishes what the block has stored until then. False on every thread if a
/// wait was: what comes after it is not moved.
template <typename Config, typename Stage>
__device__ __forceinline__ bool pass_on(i64 chunks, const Stage& stage) {
  const i32 lane = thread_index() - (Config::threads - wave_size);
  const bool looks = thread_index() < looking_threads<Stage>();
  const ThreadGroup movers = {thread_index(), moving_threads<Config>};
#pragma unroll 1
  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const bool seen = !looks || stage.has_come(chunk);
    sync_block_after_stores();
    const bool has_come = sync_block_and(seen);
    if (lane >= 0 && chunk > 0) stage.announce(chunk - 1, lane);
    if (!has_come && !sync_block_and(!looks || stage.wait(chunk))) return false;
    if (movers.index < movers.size) stage.move(chunk, movers);
  }
  sync_block_after_stores();
  if (lane >= 0 && chunks > 0) stage.announce(chunks - 1, lane);
  return true;
}

}  // namespace iris::device
