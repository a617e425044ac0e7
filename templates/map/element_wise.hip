#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Each element after the Config's prologue, rounded once.
__device__ __forceinline__ void kernel(const Context&, const Config::Element* input, const Output<Config>& output,
                                       i64 m, i64 n) {
  for_each_pack<Config::vector, Config::unroll>(grid_threads<Config>(), {0, m * n}, [&](const auto& index) {
    store(output.data, index, output.finish(index, contributions<Config>(load(input, index))));
  });
}
