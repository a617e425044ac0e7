#pragma once

#include <string>
#include <string_view>

#include "iris/code_object.hpp"

namespace iris {

/// NVRTC's messages in Clang's form: `name(3): error: …`, the source line and the caret become `name:3:7: error: …`
/// with the same two lines. What is no message with a place stays as it is.
std::string with_places(std::string_view log, std::string_view name);

/// What `--ptxas-options=--verbose` says of one entry. spill_bytes is the stack frame: spills, and arrays that did not
/// fit in registers.
Resources resources_of(std::string_view log, std::string_view symbol);

}  // namespace iris
