#pragma once

#include <memory>
#include <variant>

#include "iris/compiler.hpp"

namespace iris {

/// A compiler, or why there is none.
using FoundCompiler = std::variant<std::shared_ptr<const Compiler>, MissingCompiler>;

FoundCompiler find_clang();
FoundCompiler find_hiprtc();
FoundCompiler find_nvrtc();

}  // namespace iris
