#pragma once

#include <optional>
#include <string>

#include "runtime/jit/clang/lint/paths.hpp"
#include "runtime/jit/clang/lint/symbols.hpp"

namespace iris::clang_library::lint {

/// Which ranks, or blocks, take a way: the one of that number, or all others.
struct Chosen {
  Sum number;
  bool only = true;
};

/// Whom a way of a branch lets through of what "rank" or "block" counts. Nothing where everybody may take it, and where
/// the condition does not compare that number with one that is the same for all: a constant, a parameter, the world.
std::optional<Chosen> chosen_by(const Branch& branch, const std::string& quantity, const Symbols& symbols);

}  // namespace iris::clang_library::lint
