#pragma once

#include <map>

#include "runtime/jit/clang/lint/program.hpp"

namespace iris::clang_library::lint {

/// Which values say whether a wait was given up. A kernel whose wait was given up is over: what it does then matters to
/// nobody, and no rule follows it there.
class Outcomes {
 public:
  explicit Outcomes(const Program& program) : program_(program) {}

  /// Whether `false` of this expression means that a wait was given up.
  bool is_outcome(const clang::Expr* expression) const;

 private:
  enum class Kind { constant, outcome, other };
  Kind kind_of(const clang::Expr* expression) const;
  Kind kind_of_variable(const clang::VarDecl* variable) const;
  Kind kind_of_results(const Unit& unit) const;

  const Program& program_;
  mutable std::map<const void*, Kind> known_;
};

}  // namespace iris::clang_library::lint
