#pragma once

#include <iris/device/types.hpp>

/// What approximate.hpp needs of the platform, in f32: approximate_exp2(), approximate_reciprocal() and
/// approximate_tanh(), each as near as approximate.hpp says.
#if defined(__CUDACC__)
#include <iris/device/platform/approximate/nvidia.hpp>
#elif defined(__AMDGCN__)
#include <iris/device/platform/approximate/amd.hpp>
#else
#include <iris/device/platform/approximate/host.hpp>
#endif
