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
Compilation compile_to_object(const TargetArguments& target, const char* name, std::string_view source,
                              bool line_tables);

}  // namespace iris::clang_library
