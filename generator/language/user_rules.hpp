#pragma once

#include <optional>

#include "generator/language/document.hpp"
#include "irisgen/user_kernel.hpp"

namespace irisgen {

/// What an entry of `kernels:` says of a kernel of the user's own, where it names a source. Keys that go with a source
/// are reported where there is none.
std::optional<UserKernel> read_user_kernel(const Value& kernel, Report& report);

}  // namespace irisgen
