#pragma once

#include <llvm/ADT/StringRef.h>

#include <string_view>

namespace iris::clang_library::importing {

/// What takes the place of a name that a kernel on the symmetric heap does without.
struct Remedy {
  std::string_view name;  ///< as it is called; with `*` at its end, all that begin so
  std::string_view rule;
  std::string_view text;     ///< completes "atomicAdd_system: …"
  std::string_view include;  ///< of the vocabulary; may be empty
};

/// Of functions and variables, of HIP, CUDA and libraries; nullptr where none is known.
const Remedy* remedy_of(llvm::StringRef name);

/// Of `threadIdx.x` and its like.
const Remedy* remedy_of_index(llvm::StringRef variable, llvm::StringRef member);

/// Of inline assembly, by what stands in it.
const Remedy& remedy_of_assembly(llvm::StringRef text);

}  // namespace iris::clang_library::importing
