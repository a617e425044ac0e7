#include <iris/device/reduce.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/32;
  static constexpr i32 threads = /*${threads}*/512;
  static constexpr i32 residency = /*${residency}*/1;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  static constexpr i32 unroll = /*${unroll}*/1;  // accesses in flight for each rank
  using Element = /*${element}*/f32;
  using Accumulate = /*${accumulate}*/f32;
  using Operation = /*${op}*/Sum;
};

// Rank r reduces shard r of all inputs and pushes the result into all outputs. One thread reads an element on every
// rank before it writes it on any, so the output may be the input.
extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_reduce_two_shot(Context context, const Config::Element* input,
                                 Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/85002;
  const Range shard = split(m * n, Config::world, context.rank, Config::vector);
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;

  const Config::Element* inputs[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) inputs[rank] = on_rank(context, input, rank);
  for_each_pack<Config::vector, Config::unroll>(grid_team<Config>(), shard, [&](const auto& turn) {
    const auto result = load_and_reduce<Config, Config::Operation>(inputs, turn);
#pragma unroll
    for (i32 hop = 0; hop < Config::world; ++hop) {
      store(on_rank(context, output, rank_after<Config::world>(context, hop)), turn, result);
    }
  });

  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
