#pragma once

#include <string_view>

#include "iris/cache.hpp"
#include "iris/code_object.hpp"
#include "iris/compiler.hpp"

namespace iris {

/// From the cache, if possible without opening a compiler, or compiled and kept there; `compiler` names one, or is
/// empty for the target's own. Throws CompileError; std::runtime_error with a sentence that says what to install if
/// there is no compiler for the target.
CodeObject build(const CompileRequest& request, std::string_view compiler, Cache& cache);

}  // namespace iris
