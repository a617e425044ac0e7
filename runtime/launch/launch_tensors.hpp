#pragma once

#include <span>

#include "iris/manifest.hpp"
#include "iris/tensor_view.hpp"

namespace iris {

/// The extents of a launch on these tensors, the manifest's arguments in order: those that are dynamic and stand in a
/// shape, and what else is `given`. Throws std::runtime_error naming the argument where the number of tensors, a dtype,
/// a shape, strides, or the right to write is not as the manifest demands, where tensors differ in an extent, or from
/// what is given. Where a description has an n alone, a tensor of one dimension may stand for one of several.
Extents extents_of(const Manifest& manifest, std::span<const TensorView> tensors, const Extents& given);

}  // namespace iris
