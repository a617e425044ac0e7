#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every rank pushes its input into its slot on every other rank, then reduces what has arrived.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  using Element = Config::Element;
  const Range all = {0, m * n};
  const ThreadGroup threads = grid_threads<Config>();
  Launch<Config> launch(context);

  // The ping-pong buffer of the last launch is still being read by slow ranks; that of the one before it by nobody,
  // since the last launch waited until every rank had started it.
  Element* const slots = launch.workspace<Element>();
  const i64 slot = round_up(all.end, Config::vector);
  const auto our_slots = heap_on_peers<Config::world>(context, slots + context.rank * slot);
  for_each_pack<Config::vector, Config::unroll>(threads, all, [&](const auto& index) {
    const auto values = load(input, index);
#pragma unroll
    for (i32 offset = 1; offset < Config::world; ++offset) store(our_slots[offset], index, values);
  });
  if (!same_block_barrier(launch, Wait::arrival)) return;

  const Element* arrived[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) arrived[rank] = rank == context.rank ? input : slots + rank * slot;
  for_each_pack<Config::vector, Config::unroll>(threads, all, [&](const auto& index) {
    store(output.data, index, output.finish(index, load_and_reduce<Config, Config::Operation>(arrived, index)));
  });
}
