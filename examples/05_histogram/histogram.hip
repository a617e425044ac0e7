#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/partition.hpp>

using namespace iris::device;

/// Counts how many values of all ranks fall into each of a number of bins. The bins are divided among the ranks;
/// whoever finds a value counts it where its bin lives, on top of what has been counted there before.
/// \param counts this rank's bins
template <typename Config>
__device__ void count(const Context& context, const typename Config::Element* values, IRIS_SYMMETRIC i32* counts,
                      i64 n) {
  constexpr i32 own_bins = Config::bins / Config::world;
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;

  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    const f32 scaled = values[i] * Config::bins_per_unit;  // a power of two, so that nothing is rounded
    const i32 truncated = static_cast<i32>(scaled);
    const i32 place = (scaled < truncated ? truncated - 1 : truncated) + Config::bins / 2;
    const i32 bin = place < 0 ? 0 : place >= Config::bins ? Config::bins - 1 : place;
    atomic_add(on_rank(context, counts + bin % own_bins, bin / own_bins), 1);
  }

  same_block_barrier(launch, Wait::exit);
}
