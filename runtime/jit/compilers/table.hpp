#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "iris/compiler.hpp"

namespace iris {

/// A compiler, or why there is none.
using FoundCompiler = std::variant<std::shared_ptr<const Compiler>, MissingCompiler>;

/// The compiler of that name, one of compiler_names(), opened at the first call for it; kept as long as the process
/// runs.
const FoundCompiler& found_compiler(std::string_view name);

/// A sentence: which compiler is not there, why, and what brings it.
std::string sentence(const MissingCompiler& missing);

FoundCompiler find_clang();
FoundCompiler find_hiprtc();
FoundCompiler find_nvrtc();

}  // namespace iris
