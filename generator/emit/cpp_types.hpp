#pragma once

#include <span>
#include <string>
#include <vector>

#include "iris/dtype.hpp"
#include "iris/manifest.hpp"
#include "irisgen/plan.hpp"

namespace irisgen {

/// What a launcher calls an element of a buffer: `float`, `iris::device::BFloat16`.
std::string cpp_type(iris::Dtype dtype);

std::string cpp_type(iris::ScalarType type);

/// The entry's parameter for the map: `a_map`, `a_last_map`.
std::string parameter_of(const iris::MatrixMap& map);

/// A parameter of a launcher: a buffer or a number, the other being null.
struct LaunchParameter {
  const iris::Argument* buffer = nullptr;
  const iris::Scalar* scalar = nullptr;
};
/// What a launcher takes, but for extents and stream: of a kernel of the user's own in its source's order.
std::vector<LaunchParameter> launch_parameters(const Plan& plan);

/// Declares those that device/ defines, since a launcher needs only pointers to them; a blank line comes first. Empty
/// if there are none.
std::string declarations_of(std::span<const iris::Argument> arguments);

}  // namespace irisgen
