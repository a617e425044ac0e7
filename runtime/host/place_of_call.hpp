#pragma once

#include <string>

#include "iris/device.hpp"

namespace iris::host {

/// Where a kernel called the engine, given the address that the call returns to, as `locate` says it; empty if that is
/// not known, or `locate` is. The kernel's library must still be loaded.
std::string place_of_call(const SourceLocator& locate, const void* called_from);

}  // namespace iris::host
