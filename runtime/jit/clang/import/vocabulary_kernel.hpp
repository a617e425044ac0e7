#pragma once

#include <clang/AST/Decl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/import/changes.hpp"

namespace iris::clang_library::importing {

/// Functions of the user's files that take a Context and that no other of them calls: kernels in the vocabulary.
std::vector<const clang::FunctionDecl*> vocabulary_kernels_of(const Parsed& parsed);

/// The field `kernel` of the answer for one of those. Where irisgen has emitted the file, the entry and the Config that
/// stand in it tell what the kernel itself leaves open.
nlohmann::json describe_vocabulary_kernel(const Parsed& parsed, const clang::FunctionDecl& kernel, Changes& changes);

}  // namespace iris::clang_library::importing
