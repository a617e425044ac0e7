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

// Every rank pulls its segment of all inputs and reduces it into its output.
template <i32 vector>
__device__ void pull(const Config::Element* const (&segments)[Config::world], Config::Element* output, i64 count) {
  for_each_pack<vector, Config::unroll>(grid_team<Config>(), {0, count}, [&](const auto& turn) {
    store(output, turn, load_and_reduce<Config, Config::Operation>(segments, turn));
  });
}

extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/reduce_scatter_direct(Context context, const Config::Element* input,
                                   Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/65536;
  const i64 count = m * n;
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;

  const Config::Element* segments[Config::world];
#pragma unroll
  for (i32 rank = 0; rank < Config::world; ++rank) {
    segments[rank] = on_rank(context, input + context.rank * count, rank);
  }
  // Segments are aligned for packs if their length is a multiple of one.
  if (count % Config::vector == 0) {
    pull<Config::vector>(segments, output, count);
  } else {
    pull<1>(segments, output, count);
  }

  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
