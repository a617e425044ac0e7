#pragma once

#include <iris/device/types.hpp>

/// What math.hpp needs of the platform beside platform.hpp, and no other header does: fma_rounded_once() and
/// square_root().
#if defined(__CUDACC__)
#include <iris/device/platform/math/nvidia.hpp>
#elif defined(__AMDGCN__)
#include <iris/device/platform/math/amd.hpp>
#else
#include <iris/device/platform/math/host.hpp>
#endif
