#include <iris/device/math.hpp>

using namespace iris::device;

/// The Gaussian error linear unit of a layer's output (D. Hendrycks, K. Gimpel, 2016).
/// \param bias of the layer, added first
template <typename T>
__device__ T gelu(T value, T bias) {
  constexpr T root_of_half = T(0.70710678118654752);
  const T x = value + bias;
  return x * T(0.5) * (1 + erf(x * root_of_half));
}
