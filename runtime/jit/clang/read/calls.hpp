#pragma once

#include <clang/AST/Decl.h>

#include "runtime/jit/clang/read/entry.hpp"

namespace iris::clang_library {

/// What code that is compiled for GPUs and the CPU alike may not do, wherever an entry comes to it: call itself, for
/// which a thread has no stack (but at compile time), or ask for memory. `of_values`: functions within a pattern, which
/// references call where there are no threads, so that they may not ask which one they are, nor meet others.
void check_calls(const Parsed& parsed, const clang::FunctionDecl& entry, bool of_values, Problems& problems);

/// Buffers that a kernel's entry reaches on other ranks by the vocabulary's functions, and that are not marked as
/// symmetric: launches would take any memory for them.
void check_symmetric(const clang::FunctionDecl& entry, Problems& problems);

}  // namespace iris::clang_library
