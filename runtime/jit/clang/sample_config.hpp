#pragma once

#include <clang/AST/ASTContext.h>

#include <string>
#include <vector>

namespace iris::clang_library {

/// Templates of functions of the user's over a Config, of whom nothing is instantiated: the kernels, as they stand in a
/// file for themselves. By their full names.
std::vector<std::string> kernels_without_config(clang::ASTContext& ast);

/// C++ that instantiates them with a Config of sample values, as ParseRequest::after: it has the names that irisgen's
/// own Configs have, and those which the user's templates take from theirs besides, as numbers and as f32.
std::string instances_with_sample(clang::ASTContext& ast, const std::vector<std::string>& kernels);

}  // namespace iris::clang_library
