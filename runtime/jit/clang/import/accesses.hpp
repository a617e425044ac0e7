#pragma once

#include <clang/AST/Decl.h>

#include <map>
#include <vector>

namespace iris::clang_library::importing {

/// What functions do with the memory that a kernel's parameters point to.
struct Access {
  bool reads = false;
  bool writes = false;
  bool updates = false;
};

/// By parameter of `kernel`, given all functions that it reaches. Pointers are followed through variables and calls,
/// not through memory.
std::map<const clang::ParmVarDecl*, Access> accesses_of(const clang::FunctionDecl& kernel,
                                                        const std::vector<const clang::FunctionDecl*>& reached);

}  // namespace iris::clang_library::importing
