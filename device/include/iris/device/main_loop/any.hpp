#pragma once

/// Every main loop of the platform. An emitted source carries its own one alone.
#include <iris/device/main_loop/fma.hpp>
