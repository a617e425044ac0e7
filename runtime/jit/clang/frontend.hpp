#pragma once

#include <string>
#include <string_view>

#include "runtime/jit/clang/arguments.hpp"

namespace iris::clang_library {

/// Source to relocatable object, in memory. On failure the object is empty and `messages` says why, each line
/// `name:line:column: error: …` with the quoted source line.
struct Compilation {
  std::string object;
  std::string messages;
};
struct CompilationOptions {
  bool line_tables = false;
  bool watch_stores = false;  ///< see watch_stores.hpp; needs line tables
};
Compilation compile_to_object(const TargetArguments& target, const char* name, std::string_view source,
                              const CompilationOptions& options);

}  // namespace iris::clang_library
