#include <iris/device/reduce.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

struct Config {
  static constexpr i32 world = /*${world}*/8;
  static constexpr i32 blocks = /*${blocks}*/32;
  static constexpr i32 threads = /*${threads}*/512;
  static constexpr i32 residency = /*${residency}*/1;  // at once: blocks of a multiprocessor (CUDA), waves of a SIMD (HIP)
  static constexpr i32 vector = /*${vector}*/4;    // elements in one access
  static constexpr i32 unroll = /*${unroll}*/2;    // accesses in flight
  static constexpr i32 chunk = /*${chunk}*/16384;  // elements that a block passes on at a time
  using Element = /*${element}*/f32;
  using Accumulate = /*${accumulate}*/f32;
  using Operation = /*${op}*/Sum;
};

// Partial results travel 0 → 1 → … → world - 1, through the workspace; results travel on world - 1 → 0 → … → world - 2,
// from output to output. Each block moves its own part of the data, chunk by chunk, and its own two flags count chunks.
//
// A result exists only once every rank has contributed to it: then each rank has started this launch, its input has
// been read, and its output may be overwritten. For the same reason a launch ends on no rank before every rank has left
// the launch before, so nobody still reads the half of the workspace that the next launch fills.
extern "C" __global__ void __launch_bounds__(Config::threads, Config::residency)
/*${symbol}*/all_reduce_ring(Context context, const Config::Element* input,
                             Config::Element* output /*${extents}*/) {
  using Accumulate = Config::Accumulate;
  const i64 m = /*${m}*/1;
  const i64 n = /*${n}*/85002;
  const Range part = split(m * n, Config::blocks, block_index(), Config::vector);
  const i64 largest_part = split(m * n, Config::blocks, 0, Config::vector).end;
  const i64 chunks = largest_part == 0 ? 1 : divide_up(largest_part, Config::chunk);
  const Team team = block_team<Config>();
  const Epoch epoch = begin_launch(context);

  const bool first = context.rank == 0;
  const bool last = context.rank == Config::world - 1;
  const i32 previous = rank_after<Config::world>(context, Config::world - 1);
  const i32 next = rank_after<Config::world>(context, Config::world > 1 ? 1 : 0);
  const i64 partial_flag = 2 * i64{block_index()};
  const i64 result_flag = partial_flag + 1;

  const Accumulate* const partials = workspace_half<Accumulate>(context, epoch);
  Accumulate* const next_partials = on_rank(context, workspace_half<Accumulate>(context, epoch), next);
  Config::Element* const next_output = on_rank(context, output, next);

  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const u32 count = epoch.step + static_cast<u32>(chunk) + 1;
    if (!first && !block_wait(context, partial_flag, count, previous, Wait::step)) return;
    for_each_pack<Config::vector, Config::unroll>(team, piece(part, chunk, Config::chunk), [&](const auto& turn) {
      auto sums = convert_packs<Accumulate>(load(input, turn));
      if (!first) sums = combine<Config::Operation>(load(partials, turn), sums);
      if (!last) {
        store(next_partials, turn, sums);
      } else {
        const auto result = convert_packs<Config::Element>(sums);
        store(output, turn, result);
        store(next_output, turn, result);
      }
    });
    block_signal(context, last ? result_flag : partial_flag, count, next);
  }

  for (i64 chunk = 0; !last && chunk < chunks; ++chunk) {
    const u32 count = epoch.step + static_cast<u32>(chunk) + 1;
    if (!block_wait(context, result_flag, count, previous, Wait::step)) return;
    if (next == Config::world - 1) continue;  // it made the results
    for_each_pack<Config::vector, Config::unroll>(team, piece(part, chunk, Config::chunk), [&](const auto& turn) {
      store(next_output, turn, load(output, turn));
    });
    block_signal(context, result_flag, count, next);
  }
  end_launch(context, epoch, static_cast<u32>(chunks));
}
