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
  using Element = /*${element}*/f32;
};

// Every rank pushes its input into segment `rank` of all outputs.
template <i32 vector>
__device__ void push(const Context& context, const Config::Element* input, Config::Element* segment, i64 count) {
  for_each_pack<vector, Config::unroll>(grid_team<Config>(), {0, count}, [&](const auto& turn) {
    const auto values = load(input, turn);
#pragma unroll
    for (i32 hop = 0; hop < Config::world; ++hop) {
      store(on_rank(context, segment, rank_after<Config::world>(context, hop)), turn, values);
    }
  });
}

extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_gather_direct(Context context, const Config::Element* input,
                               Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/65536;
  const i64 count = m * n;
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;

  // Segments are aligned for packs if their length is a multiple of one.
  Config::Element* const segment = output + context.rank * count;
  if (count % Config::vector == 0) {
    push<Config::vector>(context, input, segment, count);
  } else {
    push<1>(context, input, segment, count);
  }

  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
