#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>

#include <string>
#include <vector>

#include "runtime/jit/clang/parse.hpp"

namespace iris::clang_library::importing {

/// Whether it stands in a file of the user's.
bool is_users(const Parsed& parsed, const clang::Decl& decl);

/// Definitions of the user's files, templates as they are written: those of kernels (__global__), if `kernels`, else of
/// functions for the host alone.
std::vector<const clang::FunctionDecl*> kernels_of(const Parsed& parsed);
std::vector<const clang::FunctionDecl*> host_functions_of(const Parsed& parsed);

/// The kernel and what it can come to in the user's files, each once; names that overloads or templates leave open
/// count as all that they can mean.
std::vector<const clang::FunctionDecl*> reached_from(const Parsed& parsed, const clang::FunctionDecl& kernel);

/// How the source launches a kernel, as far as it says so in numbers.
struct FoundLaunch {
  int blocks = 0;                           ///< 0: not known
  int threads = 0;                          ///< 0: not known
  clang::SourceRange where = {};            ///< invalid: none was found
  std::vector<std::string> arguments = {};  ///< of its template, as written: `float`, `4`
};
FoundLaunch launch_of(const Parsed& parsed, const clang::FunctionDecl& kernel);

}  // namespace iris::clang_library::importing
