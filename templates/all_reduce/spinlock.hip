#include <iris/device/barrier.hpp>
#include <iris/device/lock.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// The sums of every rank begin as its own input, and each rank reduces its input into those of all others, tile by
// tile: it takes the tile's lock, reads, reduces and writes. Ranks come to a tile in any order: sums may differ in the
// last bits from launch to launch, and from rank to rank. Tile b is that of block b on all ranks.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  using Accumulate = Config::Accumulate;
  const Range tile = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  const i64 lock_of_tile = own_flag<Config>(flags_of_lock * i64{block_index()});
  const ThreadGroup threads = block_threads<Config>();
  Launch<Config> launch(context);

  Accumulate* const sums = launch.workspace<Accumulate>();
  for_each_pack<Config::vector, Config::unroll>(
      threads, tile, [&](const auto& index) { store(sums, index, contributions<Config>(load(input, index))); });
  if (thread_index() == 0) open_lock(launch, lock_of_tile);
  if (!same_block_barrier(launch, Wait::entry)) return;

  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    Accumulate* const theirs = heap_on_rank(context, sums, peer);
    BlockLock<Config> lock(launch, lock_of_tile, peer);
    if (!lock.acquire()) return;
    for_each_pack<Config::vector, Config::unroll>(threads, tile, [&](const auto& index) {
      const auto mine = contributions<Config>(load(input, index));
      store(theirs, index, combine<Config::Operation>(load(theirs, index), mine));
    });
    lock.release();
  }

  if (!same_block_barrier(launch, Wait::arrival)) return;
  for_each_pack<Config::vector, Config::unroll>(
      threads, tile, [&](const auto& index) { store(output.data, index, output.finish(index, load(sums, index))); });
}
