#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

using namespace clang::ast_matchers;  // NOLINT(google-build-using-namespace): so that matchers read as they are meant

AST_MATCHER(clang::QualType, is_volatile_inside) {
  clang::QualType type = Node.getNonReferenceType();
  for (bool inside = Node->isReferenceType();; inside = true) {
    if (inside && type.isVolatileQualified()) return true;
    if (const auto* array = type->getAsArrayTypeUnsafe()) {
      type = array->getElementType();
    } else if (type->isPointerType()) {
      type = type->getPointeeType();
    } else {
      return false;
    }
  }
}

constexpr const char* message =
    "volatile orders nothing among threads or ranks, and the other rank's caches may keep the value; use atomic_load() "
    "and "
    "atomic_store(), or a signal and its wait";

}  // namespace

void check_volatile(const Model& model, Findings& findings) {
  clang::ASTContext& ast = model.program.ast();
  // One for a variable of such a type, none for the cast that it begins as.
  const auto shared = anyOf(hasType(qualType(is_volatile_inside())),
                            allOf(hasType(qualType(isVolatileQualified())), unless(hasLocalStorage())));
  const auto variable = varDecl(unless(isExpansionInSystemHeader()), unless(isImplicit()), shared).bind("variable");
  for (const auto& match : match(variable, ast)) {
    const auto* found = match.getNodeAs<clang::VarDecl>("variable");
    findings.add(volatile_access, clang::SourceRange(found->getLocation()), message);
  }
  const auto member = fieldDecl(unless(isExpansionInSystemHeader()),
                                hasType(qualType(anyOf(isVolatileQualified(), is_volatile_inside()))))
                          .bind("member");
  for (const auto& match : match(member, ast)) {
    findings.add(volatile_access, clang::SourceRange(match.getNodeAs<clang::FieldDecl>("member")->getLocation()),
                 message);
  }
  const auto cast = explicitCastExpr(unless(isExpansionInSystemHeader()), hasDestinationType(is_volatile_inside()),
                                     unless(hasAncestor(varDecl(hasType(qualType(is_volatile_inside()))))))
                        .bind("cast");
  for (const auto& match : match(cast, ast)) {
    findings.add(volatile_access, match.getNodeAs<clang::Expr>("cast")->getSourceRange(), message);
  }
}

}  // namespace iris::clang_library::lint
