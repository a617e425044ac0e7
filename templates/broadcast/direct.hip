#include <iris/device/rma.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/32;
  static constexpr i32 threads = /*${threads}*/512;
  static constexpr i32 residency = /*${residency}*/1;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  static constexpr i32 unroll = /*${unroll}*/4;  // accesses in flight
  static constexpr i32 root = /*${root}*/0;
  using Element = /*${element}*/f32;
};

// The root pushes its input into all outputs, once the other ranks have entered; they leave when all has arrived.
extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/broadcast_direct(Context context, const Config::Element* input,
                              Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/65536;
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;

  if (context.rank == Config::root) {
    for_each_pack<Config::vector, Config::unroll>(grid_team<Config>(), {0, m * n}, [&](const auto& turn) {
      const auto values = load(input, turn);
#pragma unroll
      for (i32 hop = 0; hop < Config::world; ++hop) {
        store(on_rank(context, output, rank_after<Config::world>(context, hop)), turn, values);
      }
    });
  }

  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
