#pragma once

#include <span>
#include <string>

#include "iris/dtype.hpp"
#include "iris/manifest.hpp"

namespace irisgen {

/// What a launcher calls an element of a buffer: `float`, `iris::device::BFloat16`.
std::string cpp_type(iris::Dtype dtype);

/// Declares those that device/ defines, since a launcher needs only pointers to them; a blank line comes first. Empty
/// if there are none.
std::string declarations_of(std::span<const iris::Argument> arguments);

}  // namespace irisgen
