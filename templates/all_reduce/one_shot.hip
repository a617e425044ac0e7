#include <iris/device/reduce.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/8;
  static constexpr i32 threads = /*${threads}*/512;
  static constexpr i32 residency = /*${residency}*/1;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  static constexpr i32 unroll = /*${unroll}*/1;  // accesses in flight for each rank
  using Element = /*${element}*/f32;
  using Accumulate = /*${accumulate}*/f32;
  using Operation = /*${op}*/Sum;
};

// Every rank pushes its input into its slot on every other rank, then reduces what has arrived.
extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_reduce_one_shot(Context context, const Config::Element* input,
                                 Config::Element* output /*${extents}*/) {
  using Element = Config::Element;
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/1024;
  const Range all = {0, m * n};
  const Team team = grid_team<Config>();
  const Epoch epoch = begin_launch(context);

  // The half that the launch before used is still being read by slow ranks; the one before that by nobody, since the
  // last launch waited for every rank to have started it.
  Element* const half = workspace_half<Element>(context, epoch);
  const i64 slot = round_up(all.end, Config::vector);
  for_each_pack<Config::vector, Config::unroll>(team, all, [&](const auto& turn) {
    const auto values = load(input, turn);
#pragma unroll
    for (i32 hop = 1; hop < Config::world; ++hop) {
      store(on_rank(context, half + context.rank * slot, rank_after<Config::world>(context, hop)), turn, values);
    }
  });
  if (!barrier<Config>(context, epoch.step + 1, Wait::arrival)) return;

  const Element* arrived[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) arrived[rank] = rank == context.rank ? input : half + rank * slot;
  for_each_pack<Config::vector, Config::unroll>(team, all, [&](const auto& turn) {
    store(output, turn, load_and_reduce<Config, Config::Operation>(arrived, turn));
  });
  end_launch(context, epoch, 1);
}
