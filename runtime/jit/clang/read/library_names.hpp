#pragma once

#include <vector>

#include "runtime/jit/clang/diagnostics.hpp"

namespace iris::clang_library {

/// What code is for: kernels and functions for GPUs have the vocabulary, references the C library's mathematics.
enum class Purpose { kernel, reference };

/// Where Clang does not know a name that the C or C++ library, HIP or CUDA have, says so instead, and what to write.
/// Other diagnostics stay as they are.
void explain_library_names(std::vector<Diagnostic>& diagnostics, Purpose purpose);

}  // namespace iris::clang_library
