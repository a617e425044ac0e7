#include <iris/device/barrier.hpp>

#include "../sample_config.hpp"

// A step of an operation: what every rank has enqueued before it is done before any goes on.
__device__ __forceinline__ void kernel(const Context& context) {
  Launch<Config> launch(context);
  same_block_barrier(launch, Wait::barrier);
}
