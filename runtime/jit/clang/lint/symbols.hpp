#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/jit/clang/lint/program.hpp"

namespace iris::clang_library::lint {

/// A sum of multiples of quantities that are named alike wherever they are the same: "rank", "block", "thread",
/// "peer(1)", "loop(…)", "param(m)", or "var(…)" for a variable of which only that is known.
struct Sum {
  std::map<std::string, std::int64_t> terms = {};
  std::int64_t constant = 0;

  auto operator<=>(const Sum&) const = default;
  bool is_constant() const { return terms.empty(); }
  /// The quantity that it is and nothing else; empty: there is none.
  std::string only_term() const;
  Sum plus(const Sum& other, std::int64_t factor) const;
  /// With `value` for a quantity.
  Sum with(const std::string& term, const Sum& value) const;
  std::string key() const;
};

/// What an expression may be; empty: nothing is known.
using Sums = std::set<Sum>;

/// Evaluates integers of the user's functions as far as they follow from constants and from the quantities of Sum.
class Symbols {
 public:
  explicit Symbols(const Program& program);

  Sums of(const clang::Expr* expression) const { return evaluate(expression, {}, 0); }
  /// Whether anything is assigned to it after its declaration.
  bool is_modified(const clang::VarDecl* variable) const { return modified_.contains(variable); }

 private:
  using Values = std::map<const clang::VarDecl*, Sums>;

  Sums evaluate(const clang::Expr* expression, const Values& values, int depth) const;
  Sums evaluate_variable(const clang::VarDecl* variable, const Values& values, int depth) const;
  Sums evaluate_parameter(const clang::ParmVarDecl* parameter, int depth) const;
  Sums evaluate_loop(const clang::VarDecl* variable, const clang::ForStmt* loop, int depth) const;
  Sums evaluate_binary(const clang::BinaryOperator* binary, const Values& values, int depth) const;
  Sums evaluate_call(const clang::Expr* call, const Values& values, int depth) const;

  const Program& program_;
  std::set<const clang::VarDecl*> modified_;
  std::map<const clang::VarDecl*, const clang::ForStmt*> loops_;
};

}  // namespace iris::clang_library::lint
