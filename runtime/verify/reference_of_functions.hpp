#pragma once

#include <memory>

#include "iris/reference.hpp"

namespace iris {

/// That of a pattern with functions of the user's own, which Clang compiles for the CPU. What a function gives is
/// computed in float64; in the kernel it may be off by its `absolute` and `relative`, and by what the error of its
/// values makes of it, which is looked for at both ends of their tolerance.
std::shared_ptr<const Reference> reference_of_functions(const irisgen::Plan& plan);

}  // namespace iris
