#pragma once

#include <string>
#include <vector>

#include "runtime/jit/clang/arguments.hpp"

namespace iris::clang_library {

/// Relocatable object to shared object by lld in process, through memory and a pipe: no file is written. On failure
/// `image` is empty and `messages` says why.
struct Linking {
  std::string image;
  std::string messages;
};
Linking link_object(const TargetArguments& target, const std::string& object);

/// Symbols, demangled, that an object takes from elsewhere although a host kernel may not: everything but the few
/// functions of libc and libm that compilers call on their own.
std::vector<std::string> foreign_symbols(const std::string& object);

}  // namespace iris::clang_library
