#pragma once

/// Every main loop of the platform. An emitted source carries its own one alone.
#include <iris/device/main_loop/fma.hpp>
#if defined(__CUDACC__)
#include <iris/device/main_loop/fma_staged.hpp>
#include <iris/device/main_loop/mma.hpp>
#include <iris/device/main_loop/mma_packed.hpp>
#include <iris/device/main_loop/wgmma.hpp>
#elif defined(__AMDGCN__)
#include <iris/device/main_loop/mfma.hpp>
#endif
