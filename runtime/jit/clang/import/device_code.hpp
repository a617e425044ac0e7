#pragma once

#include <clang/AST/Decl.h>

#include "runtime/jit/clang/import/changes.hpp"

namespace iris::clang_library::importing {

/// What the body of a function that runs on a GPU has and the vocabulary has not, with what it has instead.
void find_changes_in(const clang::FunctionDecl& function, Changes& changes);

}  // namespace iris::clang_library::importing
