#include <clang/Basic/SourceManager.h>

#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

/// A Launch of a function: at the end of its scope is a barrier of the block.
struct Scope {
  const clang::Stmt* launch = nullptr;  ///< its declaration
  const clang::Stmt* block = nullptr;
};

bool is_launch(const clang::VarDecl* variable) {
  const auto* record = variable->getType()->getAsCXXRecordDecl();
  return record != nullptr && record->getQualifiedNameAsString() == "iris::device::Launch";
}

bool declares_launch(const clang::Stmt* statement) {
  const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
  if (declaration == nullptr) return false;
  return std::ranges::any_of(declaration->decls(), [](const clang::Decl* one) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(one);
    return variable != nullptr && is_launch(variable);
  });
}

/// Calls `visit` with every statement below, but for those of lambdas.
template <typename Visit>
void for_each_below(const clang::Stmt* statement, const Visit& visit) {
  if (statement == nullptr || llvm::isa<clang::LambdaExpr>(statement)) return;
  visit(statement);
  for (const clang::Stmt* child : statement->children()) for_each_below(child, visit);
}

bool is_loop(const clang::Stmt* statement) {
  return llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(statement);
}

/// What decides how often, or whether, the statements within are come to; null: nothing does.
const clang::Expr* deciding(const clang::Stmt* statement) {
  if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
    return branch->isConstexpr() ? nullptr : branch->getCond();
  if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return loop->getCond();
  if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) return loop->getCond();
  if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) return loop->getCond();
  if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(statement)) return choice->getCond();
  return nullptr;
}

class DivergentExits {
 public:
  DivergentExits(const Model& model, const Unit& unit, Findings& findings)
      : model_(model), unit_(unit), findings_(findings) {}

  void check() {
    const clang::Stmt* body = unit_.function->getBody();
    for_each_below(body, [&](const clang::Stmt* statement) {
      if (!declares_launch(statement)) return;
      const Scope scope = {statement, unit_.parents->getParent(statement)};
      for_each_below(scope.block, [&](const clang::Stmt* inner) { check_exit(inner, scope); });
    });
  }

 private:
  void check_exit(const clang::Stmt* statement, const Scope& scope) {
    const bool leaves = llvm::isa<clang::ReturnStmt>(statement) || is_jump_out(statement, scope);
    if (!leaves || !is_behind(statement, scope)) return;
    const clang::Expr* parting = parting_within(statement, scope.block);
    if (parting == nullptr) parting = parting_before(statement, scope);
    if (parting == nullptr) return;
    Diagnostic* finding = findings_.add(
        divergent_exit, statement->getSourceRange(),
        "some threads of a warp leave the Launch here and others at its end, and come to its barrier at two places; "
        "leave the loop by break, or put what follows under the condition");
    findings_.note(finding, parting->getSourceRange(), "this differs among threads");
  }

  /// What has some threads come to the statement and others not, of what stands around it within `outermost`.
  const clang::Expr* parting_within(const clang::Stmt* statement, const clang::Stmt* outermost) const {
    for (const clang::Stmt* outer = unit_.parents->getParent(statement); outer != outermost;
         outer = unit_.parents->getParent(outer)) {
      const clang::Expr* condition = deciding(outer);
      if (condition != nullptr && (model_.differences.of(condition) & threads) != 0) return condition;
    }
    return nullptr;
  }

  /// The same of what stands before it: a `break` or `continue` by which some threads pass it over, and stay in the
  /// Launch.
  const clang::Expr* parting_before(const clang::Stmt* statement, const Scope& scope) const {
    const clang::Expr* parting = nullptr;
    for (const clang::Stmt* later = statement; later != scope.block && parting == nullptr;
         later = unit_.parents->getParent(later)) {
      const clang::Stmt* const around = unit_.parents->getParent(later);
      if (!llvm::isa<clang::CompoundStmt>(around)) continue;
      for (const clang::Stmt* earlier : around->children()) {
        if (earlier == later || parting != nullptr) break;
        for_each_below(earlier, [&](const clang::Stmt* jump) {
          const bool passes =
              is_jump(jump) && jumped_from(jump, scope.block) != nullptr && jumped_from(jump, around) == nullptr;
          if (passes && parting == nullptr) parting = parting_within(jump, around);
        });
      }
    }
    return parting;
  }

  static bool is_jump(const clang::Stmt* statement) {
    return llvm::isa<clang::BreakStmt, clang::ContinueStmt>(statement);
  }

  /// The loop, or the switch, that a jump leaves or goes on with, if it stands within `outermost`.
  const clang::Stmt* jumped_from(const clang::Stmt* jump, const clang::Stmt* outermost) const {
    const bool breaks = llvm::isa<clang::BreakStmt>(jump);
    for (const clang::Stmt* outer = jump; outer != outermost; outer = unit_.parents->getParent(outer)) {
      if (is_loop(outer) || (breaks && llvm::isa<clang::SwitchStmt>(outer))) return outer;
    }
    return nullptr;
  }

  /// A `break` or `continue` of a loop around the Launch's scope.
  bool is_jump_out(const clang::Stmt* statement, const Scope& scope) const {
    return is_jump(statement) && jumped_from(statement, scope.block) == nullptr;
  }

  /// Before its declaration there is no Launch to be left.
  bool is_behind(const clang::Stmt* statement, const Scope& scope) const {
    return model_.program.sources().isBeforeInTranslationUnit(scope.launch->getEndLoc(), statement->getBeginLoc());
  }

  const Model& model_;
  const Unit& unit_;
  Findings& findings_;
};

}  // namespace

void check_divergent_exit(const Model& model, Findings& findings) {
  for (const auto& unit : model.program.units()) DivergentExits(model, *unit, findings).check();
}

}  // namespace iris::clang_library::lint
