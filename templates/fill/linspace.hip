#include <iris/device/math.hpp>
#include <iris/device/numeric.hpp>
#include <iris/device/partition.hpp>

#include "../sample_config.hpp"

// Counted from the nearer end, so that both are exact: where the whole distance is one step, that may be infinite.
__device__ __forceinline__ void kernel(Config::Element* data, i64 count, f64 start, f64 end, f64 step) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < count; i += threads.size) {
    const bool is_first_half = i < count / 2;
    const i64 steps = is_first_half ? i : i - (count - 1);
    const f64 anchor = is_first_half ? start : end;
    data[i] = convert<Config::Element>(steps == 0 ? anchor : iris::device::fma(static_cast<f64>(steps), step, anchor));
  }
}
