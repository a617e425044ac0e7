#include <iris/device/math.hpp>

using namespace iris::device;

/// log(exp(a) + exp(b)), without an overflow where one of them is large.
__device__ f32 log_sum_exp(f32 a, f32 b) {
  const f32 most = max(a, b);
  const f32 least = min(a, b);
  return least == -infinity<f32>() ? most : most + log1p(exp(least - most));
}
