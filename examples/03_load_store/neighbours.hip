#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

/// Every rank writes its values into the memory of the next one, and reads those of the one before: the same data,
/// pushed and pulled.
/// \param pushed written by the rank before this one
/// \param pulled written by this rank
template <typename Config>
__device__ void exchange(const Context& context, IRIS_SYMMETRIC const typename Config::Element* input,
                         IRIS_SYMMETRIC typename Config::Element* pushed, typename Config::Element* pulled, i64 n) {
  Launch<Config> launch(context);
  // The others have started: their inputs are there, and their outputs may be overwritten.
  if (!same_block_barrier(launch, Wait::entry)) return;

  const i32 next = peer_at<Config::world>(context, 1 % Config::world);
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    store(context, pushed + i, input[i], next);
    pulled[i] = load(context, input + i, previous);
  }

  // What was pushed has come, and this rank's input has been read.
  same_block_barrier(launch, Wait::exit);
}
