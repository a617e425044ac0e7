#include <iris/device/numeric.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/random.hpp>

#include "../sample_config.hpp"

// Integers of [low, low + range): element i is number i of the sequence, whichever thread makes it.
__device__ __forceinline__ void kernel(Config::Element* data, i64 count, i64 low, u64 range, u64 seed, u64 sequence) {
  for_each_random(grid_threads<Config>(), {seed, sequence}, count, IntegerNumbers{low, range},
                  [=](i64 i, i64 number) { data[i] = convert<Config::Element>(static_cast<f64>(number)); });
}
