#pragma once

#include <optional>

#include "runtime/jit/clang/lint/program.hpp"

namespace iris::clang_library::lint {

/// A plain access to memory, by the language's own means.
struct PlainAccess {
  const clang::Expr* access = nullptr;   ///< *p, p[i] or p->m
  const clang::Expr* pointer = nullptr;  ///< p
  const clang::Expr* index = nullptr;    ///< i, if there is one
  bool loads = false;
  bool stores = false;
};

/// What a statement accesses through a pointer; nothing where it only takes an address, or is an element of an array
/// that is a variable.
std::optional<PlainAccess> plain_access(const Unit& unit, const clang::Stmt* statement);

}  // namespace iris::clang_library::lint
