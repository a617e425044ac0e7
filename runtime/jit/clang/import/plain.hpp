#pragma once

#include <clang/AST/Decl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/import/changes.hpp"

namespace iris::clang_library::importing {

/// An #include that names no file of the user's.
struct MissingInclude {
  std::string path;
  clang::SourceLocation where;
};

/// The field `kernel` of the answer for a kernel of HIP or CUDA, and in `changes` what must become of it.
nlohmann::json describe_plain(const Parsed& parsed, const clang::FunctionDecl& kernel,
                              const std::vector<MissingInclude>& missing, Changes& changes);

}  // namespace iris::clang_library::importing
