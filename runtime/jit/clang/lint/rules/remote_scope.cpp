#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

/// The name of the scope in a call of an atomic, "block" or "gpu"; empty: of the system.
std::string narrow_scope(const clang::FunctionDecl* atomic) {
  const clang::TemplateArgumentList* arguments = atomic->getTemplateSpecializationArgs();
  if (arguments == nullptr) return {};
  for (const clang::TemplateArgument& argument : arguments->asArray()) {
    if (argument.getKind() != clang::TemplateArgument::Integral) continue;
    const auto* type = argument.getIntegralType()->getAs<clang::EnumType>();
    if (type == nullptr || type->getDecl()->getName() != "Scope") continue;
    for (const clang::EnumConstantDecl* scope : type->getDecl()->enumerators()) {
      if (llvm::APSInt::isSameValue(scope->getInitVal(), argument.getAsIntegral())) {
        return scope->getName() == "sys" ? std::string() : scope->getName().str();
      }
    }
  }
  return {};
}

/// The argument that names the scope, where it is written out.
const clang::Expr* written_scope(const clang::CallExpr* call) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (name == nullptr) return nullptr;
  for (const clang::TemplateArgumentLoc& argument : name->template_arguments()) {
    if (argument.getArgument().getKind() != clang::TemplateArgument::Expression) continue;
    const auto* constant = llvm::dyn_cast<clang::DeclRefExpr>(argument.getSourceExpression()->IgnoreParenImpCasts());
    const auto* value = constant == nullptr ? nullptr : llvm::dyn_cast<clang::EnumConstantDecl>(constant->getDecl());
    if (value == nullptr) continue;
    const auto* type = llvm::dyn_cast<clang::EnumDecl>(value->getDeclContext());
    if (type != nullptr && type->getName() == "Scope") return constant;
  }
  return nullptr;
}

void check_call(const Model& model, Findings& findings, const clang::CallExpr* call) {
  const Function* row = find_function(call->getDirectCallee());
  if (row == nullptr || !row->atomic) return;
  const std::string scope = narrow_scope(call->getDirectCallee());
  const auto arguments = arguments_of(call);
  const auto address = static_cast<std::size_t>(row->stores == no_argument ? row->loads : row->stores);
  if (scope.empty() || !model.addresses.leads_to(arguments.at(address), Memory::remote)) return;
  const clang::Expr* written = written_scope(call);
  Diagnostic* finding =
      findings.add(remote_scope, written == nullptr ? call->getSourceRange() : written->getSourceRange(),
                   std::string(row->name) + " of scope '" + scope +
                       "' on the memory of another rank, whose GPU does not take part in that scope; use Scope::sys");
  findings.note(finding, arguments[address]->getSourceRange(), "this address is another rank's");
  if (written == nullptr) return;
  const std::string text = findings.text_of(written->getSourceRange());
  if (!text.ends_with(scope)) return;
  findings.replace(finding, written->getSourceRange(), text.substr(0, text.size() - scope.size()) + "sys");
}

}  // namespace

void check_remote_scope(const Model& model, Findings& findings) {
  for (const auto& unit : model.program.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) check_call(model, findings, call);
    });
  }
}

}  // namespace iris::clang_library::lint
