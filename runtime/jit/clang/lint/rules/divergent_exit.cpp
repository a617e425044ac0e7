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
    const clang::Expr* parting = nullptr;
    for (const clang::Stmt* outer = unit_.parents->getParent(statement); outer != scope.block;
         outer = unit_.parents->getParent(outer)) {
      const clang::Expr* condition = deciding(outer);
      if (condition != nullptr && (model_.differences.of(condition) & threads) != 0) {
        parting = condition;
        break;
      }
    }
    if (parting == nullptr) return;
    Diagnostic* finding = findings_.add(
        divergent_exit, statement->getSourceRange(),
        "some threads of a warp leave the Launch here and others at its end, and come to its barrier at two places; "
        "leave the loop by break, or put what follows under the condition");
    findings_.note(finding, parting->getSourceRange(), "this differs among threads");
  }

  /// A `break` or `continue` of a loop around the Launch's scope.
  bool is_jump_out(const clang::Stmt* statement, const Scope& scope) const {
    const bool breaks = llvm::isa<clang::BreakStmt>(statement);
    if (!breaks && !llvm::isa<clang::ContinueStmt>(statement)) return false;
    for (const clang::Stmt* outer = statement; outer != scope.block; outer = unit_.parents->getParent(outer)) {
      if (is_loop(outer) || (breaks && llvm::isa<clang::SwitchStmt>(outer))) return false;
    }
    return true;
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
