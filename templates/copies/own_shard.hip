#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>

#include "../sample_config.hpp"

// Beside the copy engines, which bring this rank's shards to the others: the one that stays here.
template <i32 vector>
__device__ __forceinline__ void copy(const Config::Element* from, Config::Element* to, i64 count) {
  for_each_pack<vector, Config::unroll>(grid_threads<Config>(), {0, count},
                                        [&](const auto& index) { store(to, index, load(from, index)); });
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  const i64 count = m * n;
  const Config::Element* const from = input + (Config::input_shards > 1 ? context.rank * count : 0);
  Config::Element* const to = output + context.rank * count;
  if (from == to) return;  // in place

  // Copy engines take shards as they lie.
  constexpr u64 access_bytes = Config::vector * sizeof(Config::Element);
  if ((reinterpret_cast<u64>(from) | reinterpret_cast<u64>(to)) % access_bytes == 0) {
    copy<Config::vector>(from, to, count);
  } else {
    copy<1>(from, to, count);
  }
}
