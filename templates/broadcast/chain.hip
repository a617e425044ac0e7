#include <iris/device/barrier.hpp>
#include <iris/device/pipeline.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// From the root on, each rank passes what has come to the next one, chunk by chunk: every rank sends once, to one
// other. Each block moves its own share. A rank waits for all that it gets, so that nobody waits in the end.
struct Link {
  const Launch<Config>& launch;
  const Config::Element* from;
  Config::Element* own;
  Range share;
  i64 chunks;

  __device__ __forceinline__ bool is_first() const { return launch.context.rank == Config::root; }
  __device__ __forceinline__ bool is_last() const { return next() == Config::root; }
  __device__ __forceinline__ i32 next() const {
    return peer_at<Config::world>(launch.context, Config::world > 1 ? 1 : 0);
  }
  __device__ __forceinline__ static i64 flag() { return own_flag<Config>(block_index()); }

  __device__ __forceinline__ bool has_come(i64 chunk) const {
    return is_first() || iris::device::has_come(launch, flag(), static_cast<u32>(chunk));
  }
  __device__ __forceinline__ bool wait(i64 chunk) const {
    const i32 previous = peer_at<Config::world>(launch.context, Config::world - 1);
    return wait_acquire(launch, flag(), static_cast<u32>(chunk), previous, Wait::step);
  }
  __device__ __forceinline__ void move(i64 chunk, ThreadGroup threads) const {
    const bool copies = from != own;
    const bool sends = !is_last();
    if (!copies && !sends) return;
    Config::Element* const to = on_rank(launch.context, own, next());
    const Range elements = chunk_of(share, chunk, Config::chunk, chunks);
    for_each_pack<Config::vector, Config::unroll>(threads, elements, [&](const auto& index) {
      const auto values = load(from, index);
      if (sends) store(to, index, values);
      if (copies) store(own, index, values);
    });
  }
  __device__ __forceinline__ void announce(i64 chunk, i32 lane) const {
    if (lane == 0 && !is_last()) signal_release(launch, flag(), static_cast<u32>(chunk), next());
  }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  const Range share = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  const i64 chunks = divide_up(shard_of(m * n, Config::blocks, 0, Config::vector).end, Config::chunk);
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const Config::Element* const from = context.rank == Config::root ? input : output;
  pass_on<Config>(chunks, Link{launch, from, output, share, chunks});
}
