#include <iris/device/pipeline.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Partial results travel 0 → 1 → … → world - 1, through the workspace; results travel on world - 1 → 0 → … → world - 2,
// from output to output. Each block moves its own shard of the data, chunk by chunk, and its own two flags show the
// chunks that it has passed on.
//
// A result exists only once every rank has contributed to it: then each rank has started this launch, its input has
// been read, and its output may be overwritten. For the same reason a launch ends on no rank before every rank has left
// the launch before, so nobody still reads the ping-pong buffer that the next launch fills.
struct Place {
  const Launch<Config>& launch;
  Range shard;
  i64 chunks;

  __device__ __forceinline__ bool is_first() const { return launch.context.rank == 0; }
  __device__ __forceinline__ bool is_last() const { return launch.context.rank == Config::world - 1; }
  __device__ __forceinline__ i32 previous() const { return peer_at<Config::world>(launch.context, Config::world - 1); }
  __device__ __forceinline__ i32 next() const {
    return peer_at<Config::world>(launch.context, Config::world > 1 ? 1 : 0);
  }
  __device__ __forceinline__ static i64 partial_flag() { return own_flag<Config>(2 * i64{block_index()}); }
  __device__ __forceinline__ static i64 result_flag() { return partial_flag() + 1; }

  __device__ __forceinline__ bool has_come(i64 flag, i64 chunk) const {
    return iris::device::has_come(launch, flag, static_cast<u32>(chunk));
  }
  __device__ __forceinline__ bool wait(i64 flag, i64 chunk) const {
    return wait_acquire(launch, flag, static_cast<u32>(chunk), previous(), Wait::step);
  }
  __device__ __forceinline__ void tell_next(i64 flag, i64 chunk, i32 lane) const {
    if (lane == 0) signal_release(launch, flag, static_cast<u32>(chunk), next());
  }
  template <typename Body>
  __device__ __forceinline__ void for_each_pack_of(i64 chunk, ThreadGroup threads, const Body& body) const {
    for_each_pack<Config::vector, Config::unroll>(threads, chunk_of(shard, chunk, Config::chunk, chunks), body);
  }
};

struct Partials {
  const Place& place;
  const Config::Element* input;
  const Output<Config>& output;

  __device__ __forceinline__ bool has_come(i64 chunk) const {
    return place.is_first() || place.has_come(Place::partial_flag(), chunk);
  }
  __device__ __forceinline__ bool wait(i64 chunk) const { return place.wait(Place::partial_flag(), chunk); }
  __device__ __forceinline__ void move(i64 chunk, ThreadGroup threads) const {
    using Accumulate = Config::Accumulate;
    const Context& context = place.launch.context;
    const Accumulate* const partials = place.launch.workspace<Accumulate>();
    Accumulate* const next_partials = heap_on_rank(context, place.launch.workspace<Accumulate>(), place.next());
    Config::Result* const next_output = on_rank(context, output.data, place.next());
    place.for_each_pack_of(chunk, threads, [&](const auto& index) {
      auto sums = contributions<Config>(load(input, index));
      if (!place.is_first()) sums = combine<Config::Operation>(load(partials, index), sums);
      if (!place.is_last()) {
        store(next_partials, index, sums);
      } else {
        const auto result = output.finish(index, sums);
        store(output.data, index, result);
        store(next_output, index, result);
      }
    });
  }
  __device__ __forceinline__ void announce(i64 chunk, i32 lane) const {
    place.tell_next(place.is_last() ? Place::result_flag() : Place::partial_flag(), chunk, lane);
  }
};

// They have come once they stand in this rank's output. The last of those that get them passes none on.
struct Results {
  const Place& place;
  Config::Result* output;

  __device__ __forceinline__ bool passes_on() const { return place.next() != Config::world - 1; }
  __device__ __forceinline__ bool has_come(i64 chunk) const { return place.has_come(Place::result_flag(), chunk); }
  __device__ __forceinline__ bool wait(i64 chunk) const { return place.wait(Place::result_flag(), chunk); }
  __device__ __forceinline__ void move(i64 chunk, ThreadGroup threads) const {
    if (!passes_on()) return;
    Config::Result* const next_output = on_rank(place.launch.context, output, place.next());
    place.for_each_pack_of(chunk, threads, [&](const auto& index) { store(next_output, index, load(output, index)); });
  }
  __device__ __forceinline__ void announce(i64 chunk, i32 lane) const {
    if (passes_on()) place.tell_next(Place::result_flag(), chunk, lane);
  }
};

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  const Range shard = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  const i64 longest_shard = shard_of(m * n, Config::blocks, 0, Config::vector).end;
  const i64 chunks = longest_shard == 0 ? 1 : divide_up(longest_shard, Config::chunk);
  Launch<Config> launch(context);
  const Place place = {launch, shard, chunks};

  if (!pass_on<Config>(chunks, Partials{place, input, output})) return;
  if (!place.is_last()) pass_on<Config>(chunks, Results{place, output.data});
}
