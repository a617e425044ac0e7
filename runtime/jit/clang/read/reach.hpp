#pragma once

#include <clang/AST/Decl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/read/entry.hpp"

namespace iris::clang_library {

/// The fields `waits`, `flags`, `workspace` and `launch` of the answer: what the entry and all that it calls ask of the
/// vocabulary. `extents` are the entry's parameters that a workspace may depend on.
void describe_reach(const Parsed& parsed, const clang::FunctionDecl& entry, const std::vector<std::string>& extents,
                    nlohmann::json& answer, Problems& problems);

}  // namespace iris::clang_library
