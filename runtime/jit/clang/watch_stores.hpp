#pragma once

#include <llvm/Passes/PassBuilder.h>

namespace iris::clang_library {

/// Has the code of a kernel for the CPU call runtime/system/store_hook.hpp before each store to memory that others can
/// see. `locate` finds the user's line of such a call: the vocabulary's functions are inlined first, all of them, so
/// that debug information tells who called them.
void watch_stores(llvm::PassBuilder& builder);

}  // namespace iris::clang_library
