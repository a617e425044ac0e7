#include <iris/device/numeric.hpp>
#include <iris/device/partition.hpp>

#include "../sample_config.hpp"

// Every element is the value, rounded once.
__device__ __forceinline__ void kernel(Config::Element* data, i64 count, f64 value) {
  const ThreadGroup threads = grid_threads<Config>();
  const auto element = convert<Config::Element>(value);
  for (i64 i = threads.index; i < count; i += threads.size) data[i] = element;
}
