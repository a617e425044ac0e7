#pragma once

#include <string_view>

#include "iris/cache.hpp"
#include "iris/code_object.hpp"
#include "iris/compiler.hpp"
#include "iris/kernel.hpp"
#include "irisgen/plan.hpp"

namespace iris {

/// From the cache, or compiled and kept there. Throws CompileError.
CodeObject build(const CompileRequest& request, const Compiler& compiler, Cache& cache);

/// What a Plan becomes on its way to a compiler: the self-contained source.
CompileRequest make_request(const irisgen::Plan& plan);

/// Plan to kernel, ready for any World of its target. `compiler` names one (clang, hiprtc, nvrtc), or is empty for the
/// target's own. Throws CompileError; std::runtime_error with a sentence that says what to install if there is no
/// compiler for the target.
BuiltKernel build_kernel(const irisgen::Plan& plan, std::string_view compiler = {}, Cache& cache = Cache::of_user());

}  // namespace iris
