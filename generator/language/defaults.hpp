#pragma once

#include "generator/language/document.hpp"

namespace irisgen {

/// Gives every kernel of a document the members of `defaults:` that it lacks, maps joined key by key. What is no map is
/// left alone: validation tells.
void apply_defaults(Value& root);

}  // namespace irisgen
