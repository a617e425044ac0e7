#include "runtime/jit/clang/import/accesses.hpp"

#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>

#include <set>
#include <string>

namespace iris::clang_library::importing {
namespace {

constexpr int deepest_place = 64;
constexpr int most_rounds = 8;

using Roots = std::map<const clang::VarDecl*, const clang::ParmVarDecl*>;

/// What a dereference takes: the pointer of `*p`, `p[i]`; null for another expression.
const clang::Expr* pointer_of(const clang::Expr* place) {
  if (const auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(place)) return subscript->getBase();
  const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(place);
  return unary != nullptr && unary->getOpcode() == clang::UO_Deref ? unary->getSubExpr() : nullptr;
}

/// The dereference that a place lies in: of `p[i].x` that of `p[i]`.
const clang::Expr* dereference_of(const clang::Expr* place) {
  for (int depth = 0; depth < deepest_place; ++depth) {
    place = place->IgnoreParenCasts();
    const auto* member = llvm::dyn_cast<clang::MemberExpr>(place);
    const auto* open = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(place);
    const bool goes_on = member != nullptr || (open != nullptr && !open->isImplicitAccess());
    if (!goes_on) break;
    const clang::Expr* base = member != nullptr ? member->getBase() : open->getBase();
    if (member != nullptr ? member->isArrow() : open->isArrow()) return base;
    place = base;
  }
  return pointer_of(place) == nullptr ? nullptr : place;
}

/// Of the function that is called, also where a template leaves open which.
std::string name_of(const clang::CallExpr& call) {
  const auto* open = llvm::dyn_cast<clang::OverloadExpr>(call.getCallee()->IgnoreParenImpCasts());
  if (open != nullptr) return open->getName().getAsString();
  return call.getDirectCallee() == nullptr ? "" : call.getDirectCallee()->getNameAsString();
}

class Aliases : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Aliases(const clang::FunctionDecl& kernel) {
    for (const clang::ParmVarDecl* parameter : kernel.parameters()) roots[parameter] = parameter;
  }
  Roots roots;
  bool changed = false;

  /// The kernel's parameter that a pointer begins at; null where none is known.
  const clang::ParmVarDecl* root_of(const clang::Expr* expression, int depth = 0) const {
    if (expression == nullptr || depth > deepest_place) return nullptr;
    expression = expression->IgnoreParenCasts();
    if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expression)) {
      const auto known = roots.find(llvm::dyn_cast<clang::VarDecl>(named->getDecl()));
      return known == roots.end() ? nullptr : known->second;
    }
    if (const clang::Expr* pointer = pointer_of(expression)) return root_of(pointer, depth + 1);
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression))
      return root_of(unary->getSubExpr(), depth + 1);
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression))
      return root_of(member->getBase(), depth + 1);
    if (const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(expression)) {
      if (!sum->isAdditiveOp()) return nullptr;
      const clang::ParmVarDecl* left = pointer_root(sum->getLHS(), depth);
      return left != nullptr ? left : pointer_root(sum->getRHS(), depth);
    }
    // on_rank(context, p, peer) is the same object on another rank.
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(expression))
      return (name_of(*call) == "on_rank" || name_of(*call) == "heap_on_rank") && call->getNumArgs() == 3
                 ? root_of(call->getArg(1), depth + 1)
                 : nullptr;
    if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expression))
      return root_of(choice->getTrueExpr(), depth + 1);
    return nullptr;
  }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    const clang::QualType type = variable->getType();
    if (type->isPointerType() || type->isReferenceType() || type->isUndeducedType() || type->isDependentType())
      alias(variable, variable->getInit());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    const auto* open = llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (callee == nullptr && open != nullptr && open->getNumDecls() == 1) {
      const auto* only = llvm::dyn_cast<clang::FunctionTemplateDecl>(*open->decls_begin());
      callee = only == nullptr ? nullptr : only->getTemplatedDecl();
    }
    if (callee == nullptr) return true;
    if (const clang::FunctionDecl* pattern = callee->getTemplateInstantiationPattern()) callee = pattern;
    callee = callee->getDefinition();
    for (unsigned i = 0; callee != nullptr && i < callee->getNumParams() && i < call->getNumArgs(); ++i) {
      const clang::QualType type = callee->getParamDecl(i)->getType();
      if (type->isPointerType() || type->isReferenceType()) alias(callee->getParamDecl(i), call->getArg(i));
    }
    return true;
  }

 private:
  const clang::ParmVarDecl* pointer_root(const clang::Expr* side, int depth) const {
    const clang::QualType type = side->getType();
    if (!type->isDependentType() && !type->isPointerType() && !type->isArrayType()) return nullptr;
    return root_of(side, depth + 1);
  }
  void alias(const clang::VarDecl* variable, const clang::Expr* value) {
    const clang::ParmVarDecl* root = root_of(value);
    if (root != nullptr && roots.try_emplace(variable, root).second) changed = true;
  }
};

/// Whether an element of the memory of `root` is read within an expression.
class Reads : public clang::DynamicRecursiveASTVisitor {
 public:
  Reads(const Aliases& aliases, const clang::ParmVarDecl* root, clang::Expr* expression)
      : aliases_(aliases), root_(root) {
    TraverseStmt(expression);
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* place) override { return note(place); }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    return operation->getOpcode() != clang::UO_Deref || note(operation);
  }

  bool found = false;

 private:
  bool note(const clang::Expr* place) {
    found = found || aliases_.root_of(pointer_of(place)) == root_;
    return true;
  }

  const Aliases& aliases_;
  const clang::ParmVarDecl* root_;
};

class Uses : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Uses(const Aliases& aliases) : aliases_(aliases) {}
  std::map<const clang::ParmVarDecl*, Access> found;

  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    if (operation->isAssignmentOp())
      assign(operation->getLHS(), operation->isCompoundAssignmentOp(), operation->getRHS());
    if (operation->getOpcode() == clang::BO_Assign) exchange(*operation);
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    if (operation->isIncrementDecrementOp()) assign(operation->getSubExpr(), true);
    if (operation->getOpcode() == clang::UO_Deref) use(operation);
    // Of an address nothing is read.
    if (operation->getOpcode() == clang::UO_AddrOf) assigned_.insert(dereference_of(operation->getSubExpr()));
    return true;
  }
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* call) override {
    if (call->isAssignmentOp()) assign(call->getArg(0), call->getOperator() != clang::OO_Equal);
    return true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* place) override { return use(place); }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const std::string name = name_of(*call);
    if (call->getNumArgs() == 0 || (!name.starts_with("atomic") && !name.starts_with("__hip_atomic"))) return true;
    if (const clang::ParmVarDecl* root = aliases_.root_of(call->getArg(0))) found[root].updates = true;
    return true;
  }

 private:
  /// Where pointers are assigned to one another, each may be used as all.
  void exchange(const clang::BinaryOperator& operation) {
    if (dereference_of(operation.getLHS()) != nullptr) return;
    const clang::ParmVarDecl* to = aliases_.root_of(operation.getLHS());
    const clang::ParmVarDecl* from = aliases_.root_of(operation.getRHS());
    if (to == nullptr || from == nullptr || to == from) return;
    found[to].updates = true;
    found[from].updates = true;
  }
  /// By the operator, or since the value comes from the same buffer: y[i] = y[i] + x.
  void assign(const clang::Expr* place, bool updates, clang::Expr* value = nullptr) {
    const clang::Expr* dereference = dereference_of(place);
    if (dereference == nullptr) return;
    assigned_.insert(dereference);
    const clang::ParmVarDecl* root = aliases_.root_of(dereference);
    if (root == nullptr) return;
    updates = updates || (value != nullptr && Reads(aliases_, root, value).found);
    (updates ? found[root].updates : found[root].writes) = true;
  }
  /// A dereference that is no assignment's place, nor on the way to another: those are visited before.
  bool use(const clang::Expr* place) {
    const clang::Expr* pointer = pointer_of(place);
    assigned_.insert(dereference_of(pointer));
    if (assigned_.contains(place)) return true;
    if (const clang::ParmVarDecl* root = aliases_.root_of(pointer)) found[root].reads = true;
    return true;
  }

  const Aliases& aliases_;
  std::set<const clang::Expr*> assigned_ = {nullptr};
};

}  // namespace

std::map<const clang::ParmVarDecl*, Access> accesses_of(const clang::FunctionDecl& kernel,
                                                        const std::vector<const clang::FunctionDecl*>& reached) {
  Aliases aliases(kernel);
  for (int round = 0; round < most_rounds; ++round) {
    aliases.changed = false;
    for (const clang::FunctionDecl* function : reached) aliases.TraverseStmt(function->getBody());
    if (!aliases.changed) break;
  }
  Uses uses(aliases);
  for (const clang::FunctionDecl* function : reached) uses.TraverseStmt(function->getBody());
  return uses.found;
}

}  // namespace iris::clang_library::importing
