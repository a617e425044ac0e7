#include <iris/device/numeric.hpp>

template <typename T>
__device__ T square(T x) {
  return x * x + 1;
}
