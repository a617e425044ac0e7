#include "runtime/jit/clang/import/kernels.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <optional>
#include <set>

namespace iris::clang_library::importing {
namespace {

constexpr int most = 65535;
constexpr int deepest_number = 32;

class Functions : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Functions(const Parsed& parsed) : parsed_(parsed) { TraverseDecl(parsed.ast().getTranslationUnitDecl()); }
  std::vector<const clang::FunctionDecl*> found;

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody() && is_users(parsed_, *function)) found.push_back(function);
    return true;
  }

 private:
  const Parsed& parsed_;
};

/// What a function refers to, by name or through what a template leaves open.
class References : public clang::DynamicRecursiveASTVisitor {
 public:
  std::vector<const clang::FunctionDecl*> found;

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) override { return note(reference->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) override { return note(member->getMemberDecl()); }
  bool VisitOverloadExpr(clang::OverloadExpr* names) override {
    for (const clang::NamedDecl* one : names->decls()) note(one);
    return true;
  }

 private:
  bool note(const clang::NamedDecl* decl) {
    if (const auto* as_template = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl))
      decl = as_template->getTemplatedDecl();
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl);
    if (function == nullptr) return true;
    if (const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern()) function = pattern;
    if (const clang::FunctionDecl* definition = function->getDefinition()) found.push_back(definition);
    return true;
  }
};

std::optional<int> number_of(const Parsed& parsed, const clang::Expr* expression, int depth = 0);

/// The one number of a dim3 whose others are 1.
std::optional<int> number_of(const Parsed& parsed, const clang::CXXConstructExpr& made, int depth) {
  long long product = 1;
  for (const clang::Expr* argument : made.arguments()) {
    if (llvm::isa<clang::CXXDefaultArgExpr>(argument)) continue;
    const auto number = number_of(parsed, argument, depth + 1);
    if (!number) return std::nullopt;
    product *= *number;
    if (product > most) return std::nullopt;
  }
  return static_cast<int>(product);
}

std::optional<int> number_of(const Parsed& parsed, const clang::Expr* expression, int depth) {
  if (expression == nullptr || depth > deepest_number) return std::nullopt;
  expression = expression->IgnoreParenImpCasts();
  if (expression->isInstantiationDependent() || expression->containsErrors()) return std::nullopt;
  if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expression))
    return number_of(parsed, cleanups->getSubExpr(), depth + 1);
  if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(expression))
    return number_of(parsed, temporary->getSubExpr(), depth + 1);
  if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(expression))
    return number_of(parsed, bound->getSubExpr(), depth + 1);
  if (const auto* cast = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(expression))
    return number_of(parsed, cast->getSubExpr(), depth + 1);
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(expression)) return number_of(parsed, *made, depth);
  clang::Expr::EvalResult result;
  if (expression->getType()->isIntegralOrEnumerationType() && expression->EvaluateAsInt(result, parsed.ast())) {
    const long long value = result.Val.getInt().getExtValue();
    return value >= 1 && value <= most ? std::optional(static_cast<int>(value)) : std::nullopt;
  }
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expression);
  const auto* variable = named == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(named->getDecl());
  return variable == nullptr ? std::nullopt : number_of(parsed, variable->getInit(), depth + 1);
}

class Launches : public clang::DynamicRecursiveASTVisitor {
 public:
  Launches(const Parsed& parsed, const clang::FunctionDecl& kernel) : parsed_(parsed), kernel_(kernel) {
    TraverseDecl(parsed.ast().getTranslationUnitDecl());
  }
  FoundLaunch found;

  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr* call) override {
    const clang::CallExpr* config = call->getConfig();
    if (config != nullptr && config->getNumArgs() >= 2)
      take(call->getCallee(), config->getArg(0), config->getArg(1), call->getSourceRange());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (named == nullptr || call->getNumArgs() < 3) return true;
    const std::string name = named->getDecl()->getNameAsString();
    if (name == "cudaLaunchCooperativeKernel" || name == "hipLaunchCooperativeKernel" || name == "hipLaunchKernel")
      take(call->getArg(0), call->getArg(1), call->getArg(2), call->getSourceRange());
    return true;
  }

 private:
  void take(const clang::Expr* callee, const clang::Expr* blocks, const clang::Expr* threads,
            clang::SourceRange where) {
    References references;
    references.TraverseStmt(const_cast<clang::Expr*>(callee));
    if (found.where.isValid() || std::ranges::find(references.found, &kernel_) == references.found.end()) return;
    found.where = where;
    found.blocks = number_of(parsed_, blocks).value_or(0);
    found.threads = number_of(parsed_, threads).value_or(0);
    for (const clang::TemplateArgumentLoc& argument : template_arguments(callee)) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      argument.getArgument().print(clang::PrintingPolicy(parsed_.ast().getLangOpts()), stream, false);
      found.arguments.push_back(text);
    }
  }

  static llvm::ArrayRef<clang::TemplateArgumentLoc> template_arguments(const clang::Expr* callee) {
    callee = callee->IgnoreParenCasts();
    if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(callee)) return named->template_arguments();
    if (const auto* open = llvm::dyn_cast<clang::OverloadExpr>(callee)) return open->template_arguments();
    return {};
  }

  const Parsed& parsed_;
  const clang::FunctionDecl& kernel_;
};

bool runs_on_host(const clang::FunctionDecl& function) {
  return !function.hasAttr<clang::CUDAGlobalAttr>() && !function.hasAttr<clang::CUDADeviceAttr>();
}

}  // namespace

bool is_users(const Parsed& parsed, const clang::Decl& decl) {
  const clang::SourceLocation where = parsed.sources().getExpansionLoc(decl.getLocation());
  return where.isValid() && !parsed.sources().isInSystemHeader(where);
}

std::vector<const clang::FunctionDecl*> kernels_of(const Parsed& parsed) {
  std::vector<const clang::FunctionDecl*> found = Functions(parsed).found;
  std::erase_if(found, [](const auto* function) { return !function->template hasAttr<clang::CUDAGlobalAttr>(); });
  return found;
}

std::vector<const clang::FunctionDecl*> host_functions_of(const Parsed& parsed) {
  std::vector<const clang::FunctionDecl*> found = Functions(parsed).found;
  std::erase_if(found, [](const auto* function) {
    return !runs_on_host(*function) || function->isConstexpr() || llvm::isa<clang::CXXMethodDecl>(function);
  });
  return found;
}

std::vector<const clang::FunctionDecl*> reached_from(const Parsed& parsed, const clang::FunctionDecl& kernel) {
  std::vector<const clang::FunctionDecl*> reached = {&kernel};
  std::set<const clang::FunctionDecl*> seen = {&kernel};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    References references;
    references.TraverseStmt(reached[i]->getBody());
    for (const clang::FunctionDecl* one : references.found) {
      if (is_users(parsed, *one) && seen.insert(one).second) reached.push_back(one);
    }
  }
  return reached;
}

FoundLaunch launch_of(const Parsed& parsed, const clang::FunctionDecl& kernel) {
  return Launches(parsed, kernel).found;
}

}  // namespace iris::clang_library::importing
