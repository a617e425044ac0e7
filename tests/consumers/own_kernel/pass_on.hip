#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

/// Gives the next rank a multiple of each value. The buffers have names that launchers have a use for, too.
template <typename Config>
__device__ void multiply(const Context& context, const typename Config::Element* stream,
                         IRIS_SYMMETRIC typename Config::Element* buffers, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const ThreadGroup threads = grid_threads<Config>();
  const i32 next = peer_at<Config::world>(context, 1);
  for (i64 i = threads.index; i < n; i += threads.size) store(context, buffers + i, 2 * stream[i], next);
  same_block_barrier(launch, Wait::exit);
}
