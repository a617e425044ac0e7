#pragma once

#include <map>
#include <string>

#include "runtime/jit/clang/parse.hpp"

namespace clang {
class FunctionDecl;
}

namespace iris::clang_library {

/// A documentation comment in paragraphs of one line each, without what it says of parameters.
struct Comment {
  std::string text;
  std::map<std::string, std::string> parameters;
};
Comment comment_of(const Parsed& parsed, const clang::FunctionDecl& function);

}  // namespace iris::clang_library
