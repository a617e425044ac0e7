#include <iris/device/math.hpp>
#include <iris/device/numeric.hpp>
#include <iris/device/partition.hpp>

#include "../sample_config.hpp"

// Element i is start + i·step, in f64 and then rounded once more.
__device__ __forceinline__ void kernel(Config::Element* data, i64 count, f64 start, f64 step) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < count; i += threads.size) {
    data[i] = convert<Config::Element>(iris::device::fma(static_cast<f64>(i), step, start));
  }
}
