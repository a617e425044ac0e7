#include "runtime/jit/clang/lint/outcomes.hpp"

#include <clang/AST/StmtCXX.h>

namespace iris::clang_library::lint {

bool Outcomes::is_outcome(const clang::Expr* expression) const {
  return kind_of(expression) == Kind::outcome;
}

Outcomes::Kind Outcomes::kind_of(const clang::Expr* expression) const {
  const clang::Expr* inner = stripped(expression);
  if (llvm::isa<clang::CXXBoolLiteralExpr>(inner)) return Kind::constant;
  if (const clang::VarDecl* variable = variable_of(inner)) return kind_of_variable(variable);
  if (const auto* both = llvm::dyn_cast<clang::BinaryOperator>(inner); both != nullptr && both->isLogicalOp()) {
    const Kind left = kind_of(both->getLHS());
    const Kind right = kind_of(both->getRHS());
    const bool either = left == Kind::outcome || right == Kind::outcome;
    // What stands before || says who waits.
    if (both->getOpcode() == clang::BO_LOr) return either ? Kind::outcome : Kind::other;
    return left == Kind::other || right == Kind::other ? Kind::other : (either ? Kind::outcome : Kind::constant);
  }
  const clang::FunctionDecl* callee = callee_of(inner);
  if (callee == nullptr) return Kind::other;
  if (const Function* known = find_function(callee)) {
    if (known->outcome) return Kind::outcome;
    const auto arguments = arguments_of(inner);
    return known->effect == Effect::sync && arguments.size() == 1 ? kind_of(arguments[0]) : Kind::other;
  }
  const Unit* unit = program_.find(callee);
  return unit == nullptr ? Kind::other : kind_of_results(*unit);
}

Outcomes::Kind Outcomes::kind_of_variable(const clang::VarDecl* variable) const {
  if (!variable->hasLocalStorage() || !variable->getType().getNonReferenceType()->isBooleanType()) return Kind::other;
  if (llvm::isa<clang::ParmVarDecl>(variable)) return Kind::other;
  const auto [place, is_new] = known_.try_emplace(variable, Kind::constant);  // a loop asks for itself
  if (!is_new) return place->second;
  Kind kind = variable->getInit() == nullptr ? Kind::constant : kind_of(variable->getInit());
  for (const auto& unit : program_.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      const auto* assigned = llvm::dyn_cast<clang::BinaryOperator>(statement);
      if (assigned == nullptr || !assigned->isAssignmentOp() || variable_of(assigned->getLHS()) != variable) return;
      const Kind next = kind_of(assigned->getRHS());
      if (next == Kind::other || kind == Kind::constant) kind = kind == Kind::other ? Kind::other : next;
    });
  }
  return known_[variable] = kind;
}

Outcomes::Kind Outcomes::kind_of_results(const Unit& unit) const {
  if (!unit.function->getReturnType()->isBooleanType()) return Kind::other;
  const auto [place, is_new] = known_.try_emplace(&unit, Kind::other);  // a recursion has none
  if (!is_new) return place->second;
  bool waits_within = false;
  bool others = false;
  for_each_statement(unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
    const Function* called = find_function(callee_of(statement));
    const Unit* user = program_.find(callee_of(statement));
    if (called != nullptr && called->outcome) waits_within = true;
    if (user != nullptr && kind_of_results(*user) == Kind::outcome) waits_within = true;
    const auto* result = llvm::dyn_cast<clang::ReturnStmt>(statement);
    if (result != nullptr && kind_of(result->getRetValue()) == Kind::other) others = true;
  });
  return known_[&unit] = waits_within && !others ? Kind::outcome : Kind::other;
}

}  // namespace iris::clang_library::lint
