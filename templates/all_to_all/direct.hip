#include <iris/device/rma.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/32;
  static constexpr i32 threads = /*${threads}*/512;
  static constexpr i32 residency = /*${residency}*/1;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;  // elements in one access
  using Element = /*${element}*/f32;
};

// Input and output are m rows of `world` pieces of n elements. Rank r pushes piece p of each of its rows into piece r
// of the same row on rank p.
template <i32 vector>
__device__ void exchange(const Context& context, const Config::Element* input, Config::Element* output, i64 m, i64 n) {
  for_each_pack<vector, 1>(grid_team<Config>(), {0, m * n}, [&](const auto& turn) {
    using Place = Turn<vector, 1>;
    const i64 row = turn[0] / n;
    const i64 column = turn[0] % n;
    const i64 begin = row * Config::world * n + column;
    Packs<Config::Element, vector, 1> values[Config::world];
    for (i32 hop = 0; hop < Config::world; ++hop) {
      values[hop] = load(input, Place{begin + rank_after<Config::world>(context, hop) * n, 0});
    }
    for (i32 hop = 0; hop < Config::world; ++hop) {
      Config::Element* const to = on_rank(context, output, rank_after<Config::world>(context, hop));
      store(to, Place{begin + context.rank * n, 0}, values[hop]);
    }
  });
}

extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_to_all_direct(Context context, const Config::Element* input,
                               Config::Element* output /*${extents}*/) {
  const i64 m = /*${m}*/64;
  const i64 n = /*${n}*/4096;
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;

  // Pieces are aligned for packs if their length is a multiple of one.
  if (n % Config::vector == 0) {
    exchange<Config::vector>(context, input, output, m, n);
  } else {
    exchange<1>(context, input, output, m, n);
  }

  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
