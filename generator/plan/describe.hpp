#pragma once

#include <string>

#include "irisgen/plan.hpp"

namespace irisgen {

/// The kernel in a line, for banners and messages:
/// `all_reduce (two_shot) of f32, sum over 8 ranks, n = 85002, for gfx942`.
std::string describe(const Plan& plan);

/// An argument's shape on each rank: `(24, 85002)`, with the extents' names where they are dynamic, `(8·m, n)`, and
/// without an m of 1 that nobody wrote.
std::string describe_shape(const Plan& plan, const Argument& argument);

/// The extent of that name ('m', 'n' or 'k') as the kernel's description gives it.
const Extent& extent_of(const KernelSpec& kernel, char name);

/// The extents that tell kernels apart: all of the pattern's, but m of a collective over a plain vector (m = 1).
std::string named_extents(const KernelSpec& kernel);

}  // namespace irisgen
