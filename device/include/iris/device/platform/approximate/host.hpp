#pragma once

#include <iris/device/math.hpp>
#include <iris/device/platform/approximate/tanh.hpp>

/// The CPU, which has no such instructions.
namespace iris::device::platform {

inline f32 approximate_exp2(f32 x) {
  return exp2(x);
}

inline f32 approximate_reciprocal(f32 x) {
  return 1 / x;
}

inline f32 approximate_tanh(f32 x) {
  return tanh_from_exp2<approximate_exp2, approximate_reciprocal>(x);
}

}  // namespace iris::device::platform
