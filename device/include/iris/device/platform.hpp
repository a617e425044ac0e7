#pragma once

#include <iris/device/types.hpp>

/// Picks the platform. Each of the three headers defines the execution-space keywords where the compiler lacks them and
/// the same functions in iris::device and iris::device::platform; nothing outside platform/ uses an intrinsic, an asm
/// statement or a compiler's macro.
#if defined(__CUDACC__)
#include <iris/device/platform/nvidia.hpp>
#elif defined(__AMDGCN__)
#include <iris/device/platform/amd.hpp>
#else
#include <iris/device/platform/host.hpp>
#endif
