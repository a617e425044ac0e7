#include <iris/device/partition.hpp>
#include <iris/device/random.hpp>

#include "../sample_config.hpp"

// Uniform numbers: element i is number i of the sequence, whichever thread makes it.
__device__ __forceinline__ void kernel(Config::Element* data, i64 count, u64 seed, u64 sequence) {
  for_each_random(grid_threads<Config>(), {seed, sequence}, count, UniformNumbers<Config::Element>{},
                  [=](i64 i, Config::Element number) { data[i] = number; });
}
