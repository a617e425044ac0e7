#include <iris/device/unaligned.hpp>

#include "../sample_config.hpp"

// Copies rows of n elements, which begin anywhere, so that each begins at a cache line, with zeros to the end of its
// last one.
__device__ __forceinline__ void kernel(const Context&, const Config::Element* input, Config::Element* output, i64 m,
                                       i64 n) {
  using Rows = UnalignedRows<Config::Element>;
  const Rows rows{dense(input, m, n)};
  const i64 pitch = round_up(n, Config::cache_line);
  for_each_pack_of_rows<Rows::width, Config::unroll>(
      grid_threads<Config>(), m, pitch, [&](const auto& at) { store(output, at.in(pitch), rows.load(at)); });
}
