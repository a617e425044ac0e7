#include "runtime/jit/clang/lint/accesses.hpp"

namespace iris::clang_library::lint {
namespace {

std::optional<PlainAccess> shape_of(const clang::Stmt* statement) {
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
    if (unary->getOpcode() != clang::UO_Deref) return std::nullopt;
    return PlainAccess{.access = unary, .pointer = unary->getSubExpr()};
  }
  if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) {
    if (element->getBase()->IgnoreParenImpCasts()->getType()->isArrayType()) return std::nullopt;
    return PlainAccess{.access = element, .pointer = element->getBase(), .index = element->getIdx()};
  }
  const auto* member = llvm::dyn_cast<clang::MemberExpr>(statement);
  if (member == nullptr || !member->isArrow() || !llvm::isa<clang::FieldDecl>(member->getMemberDecl()))
    return std::nullopt;
  return PlainAccess{.access = member, .pointer = member->getBase()};
}

}  // namespace

std::optional<PlainAccess> plain_access(const Unit& unit, const clang::Stmt* statement) {
  std::optional<PlainAccess> found = shape_of(statement);
  if (!found || !found->pointer->getType()->isPointerType()) return std::nullopt;
  const clang::Stmt* inner = statement;
  const clang::Stmt* outer = unit.parents->getParent(statement);
  // (*p).m is accessed as *p is.
  while (outer != nullptr) {
    const auto* member = llvm::dyn_cast<clang::MemberExpr>(outer);
    const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(outer);
    const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(outer);
    const bool part = llvm::isa<clang::ParenExpr>(outer) || (member != nullptr && !member->isArrow()) ||
                      (element != nullptr && element->getBase() == inner) ||
                      (cast != nullptr &&
                       (cast->getCastKind() == clang::CK_NoOp || cast->getCastKind() == clang::CK_ArrayToPointerDecay));
    if (!part) break;
    inner = outer;
    outer = unit.parents->getParent(outer);
  }
  if (outer == nullptr) return found;
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(outer)) {
    if (unary->getOpcode() == clang::UO_AddrOf) return std::nullopt;
    if (unary->isIncrementDecrementOp()) found->loads = found->stores = true;
  } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(outer)) {
    found->stores = binary->isAssignmentOp() && binary->getLHS() == inner;
    found->loads = found->stores && binary->isCompoundAssignmentOp();
  } else if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(outer)) {
    found->loads = cast->getCastKind() == clang::CK_LValueToRValue;
  } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(outer)) {
    found->stores = call->isAssignmentOp() && call->getNumArgs() > 0 && call->getArg(0) == inner;
    found->loads = !found->stores;
  } else if (llvm::isa<clang::CXXConstructExpr>(outer)) {
    found->loads = true;
  }
  return found;
}

}  // namespace iris::clang_library::lint
