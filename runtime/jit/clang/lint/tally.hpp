#pragma once

#include <functional>

#include "runtime/jit/clang/lint/paths.hpp"

namespace iris::clang_library::lint {

/// How often something is counted on the ways from one place to another.
struct Tally {
  int least = 0;
  int most = 0;
  bool open = false;  ///< in a loop, or by an amount that is not known: any number
};

/// What a block counts.
using Weigh = std::function<Tally(const clang::CFGBlock*)>;

/// On all ways from the beginning of `from` to the beginning of `to`.
Tally tally(const Paths& paths, const clang::CFGBlock* from, const clang::CFGBlock* to, const Weigh& weigh);

/// Whether both ways of a branch may count alike until they meet: certainly not, if this is false.
bool may_be_even(const Paths& paths, const clang::CFGBlock* branch, const Weigh& weigh);

}  // namespace iris::clang_library::lint
