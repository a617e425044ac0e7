#pragma once

#include <string>

#include "runtime/jit/clang/interface.hpp"

namespace iris::clang_library {

/// Fills in the resources of one kernel from an AMD code object's metadata note; leaves them alone where it has none.
void read_amd_resources(const std::string& image, const std::string& symbol, Outcome& outcome);

}  // namespace iris::clang_library
