#include "runtime/jit/clang/lint/accesses.hpp"
#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

bool knows_packs(clang::ASTContext& ast) {
  const clang::DeclContext* scope = ast.getTranslationUnitDecl();
  for (const char* name : {"iris", "device"}) {
    const auto found = scope->lookup(&ast.Idents.get(name));
    const auto* space = found.empty() ? nullptr : llvm::dyn_cast<clang::NamespaceDecl>(found.front());
    if (space == nullptr) return false;
    scope = space;
  }
  return !scope->lookup(&ast.Idents.get("load_pack")).empty();
}

/// What is read is offered as a load of the vocabulary, which says the same of each type that it takes.
void offer_load(const Model& model, Findings& findings, Diagnostic* finding, const PlainAccess& access) {
  const bool whole = llvm::isa<clang::UnaryOperator, clang::ArraySubscriptExpr>(access.access);
  if (!access.loads || access.stores || !whole || !knows_packs(model.program.ast())) return;
  std::string pointer = findings.text_of(access.pointer->getSourceRange());
  if (pointer.empty()) return;
  if (access.index != nullptr) {
    const std::string index = findings.text_of(access.index->getSourceRange());
    if (index.empty()) return;
    const bool simple = llvm::isa<clang::DeclRefExpr, clang::CallExpr, clang::ParenExpr, clang::ArraySubscriptExpr>(
        access.pointer->IgnoreImpCasts());
    const bool simple_index = llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::CallExpr, clang::ParenExpr>(
        access.index->IgnoreImpCasts());
    pointer = (simple ? pointer : "(" + pointer + ")") + " + " + (simple_index ? index : "(" + index + ")");
  }
  findings.replace(finding, access.access->getSourceRange(), "iris::device::load_pack<1>(" + pointer + ")[0]");
}

void check_access(const Model& model, Findings& findings, const PlainAccess& access) {
  if (!model.addresses.leads_to(access.pointer, Memory::remote)) return;
  const std::string remedy = access.stores ? "store(), store_pack() or an atomic" : "load(), load_pack() or an atomic";
  Diagnostic* finding = findings.add(
      remote_dereference, access.access->getSourceRange(),
      "plain access to the memory of another rank, which the compiler may repeat, split or move; use " + remedy);
  offer_load(model, findings, finding, access);
}

/// __builtin_memcpy and its like are plain accesses, too.
void check_builtin(const Model& model, Findings& findings, const clang::CallExpr* call) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || callee->getBuiltinID() == 0 || !callee->getName().contains("mem")) return;
  for (const clang::Expr* argument : call->arguments()) {
    if (!argument->getType()->isPointerType() || !model.addresses.leads_to(argument, Memory::remote)) continue;
    findings.add(remote_dereference, call->getSourceRange(),
                 "plain access to the memory of another rank by " + callee->getName().str() +
                     "(), which the compiler may repeat, split or move; use get(), put() or copy()");
    return;
  }
}

}  // namespace

void check_remote_dereference(const Model& model, Findings& findings) {
  for (const auto& unit : model.program.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      if (const auto access = plain_access(*unit, statement)) check_access(model, findings, *access);
      if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) check_builtin(model, findings, call);
    });
  }
}

}  // namespace iris::clang_library::lint
