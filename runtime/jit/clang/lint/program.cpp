#include "runtime/jit/clang/lint/program.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>

namespace iris::clang_library::lint {
namespace {

// What is known of paths takes the square of this; a kernel has a hundred.
constexpr unsigned max_blocks_of_function = 1000;
constexpr unsigned max_blocks = 20'000;

std::unique_ptr<clang::CFG> cfg_of(const clang::FunctionDecl* function, clang::ASTContext& ast) {
  clang::CFG::BuildOptions options;
  options.setAllAlwaysAdd();
  return clang::CFG::buildCFG(function, function->getBody(), &ast, options);
}

/// Calls of the user's functions in the vocabulary's instantiated ones.
class VocabularyCalls : public clang::DynamicRecursiveASTVisitor {
 public:
  std::set<const clang::FunctionDecl*> called;

  VocabularyCalls() { ShouldVisitTemplateInstantiations = true; }
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (const auto* function = call->getDirectCallee()) called.insert(function->getDefinition());
    return true;
  }
};

}  // namespace

Program::Program(clang::ASTContext& ast) : ast_(ast) {
  using namespace clang::ast_matchers;  // NOLINT(google-build-using-namespace): so that matchers read as they are meant
  const auto wanted = functionDecl(isDefinition(), unless(isExpansionInSystemHeader())).bind("function");
  unsigned blocks = 0;
  for (const auto& match : match(wanted, ast)) {
    const auto* function = match.getNodeAs<clang::FunctionDecl>("function");
    if (function->isDependentContext() || function->isInvalidDecl() || !function->doesThisDeclarationHaveABody())
      continue;
    if (function->isDefaulted() || by_function_.contains(function)) continue;
    auto unit = std::make_unique<Unit>(Unit{.function = function, .cfg = cfg_of(function, ast)});
    if (unit->cfg == nullptr) continue;
    blocks += unit->cfg->getNumBlockIDs();
    if (unit->cfg->getNumBlockIDs() > max_blocks_of_function || blocks > max_blocks) {
      left_out_.push_back(function);
      continue;
    }
    unit->parents = std::make_unique<clang::ParentMap>(function->getBody());
    by_function_[function] = unit.get();
    units_.push_back(std::move(unit));
  }
  for (const auto& unit : units_) collect_calls(*unit);
  collect_vocabulary_calls();
}

const Unit* Program::find(const clang::FunctionDecl* function) const {
  if (function == nullptr) return nullptr;
  const auto found = by_function_.find(function->getDefinition());
  return found == by_function_.end() ? nullptr : found->second;
}

const std::vector<CallSite>& Program::callers(const Unit& unit) const {
  static const std::vector<CallSite> none;
  const auto found = callers_.find(&unit);
  return found == callers_.end() ? none : found->second;
}

const std::vector<CallSite>& Program::takers(const Unit& unit) const {
  static const std::vector<CallSite> none;
  const auto found = takers_.find(&unit);
  return found == takers_.end() ? none : found->second;
}

bool Program::is_called_by_vocabulary(const Unit& unit) const {
  return called_by_vocabulary_.contains(&unit);
}

bool Program::is_entry(const Unit& unit) const {
  return callers(unit).empty() && takers(unit).empty() && !is_called_by_vocabulary(unit);
}

void Program::collect_calls(const Unit& unit) {
  for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
    const clang::FunctionDecl* callee = callee_of(statement);
    if (callee == nullptr) return;
    const CallSite site = {&unit, block, llvm::cast<clang::Expr>(statement)};
    if (const Unit* called = find(callee)) callers_[called].push_back(site);
    for (const clang::Expr* argument : arguments_of(statement)) {
      for (const clang::FunctionDecl* body : lambda_bodies(argument)) {
        const Unit* lambda = find(body);
        if (lambda != nullptr && is_vocabulary(callee)) takers_[lambda].push_back(site);
      }
    }
  });
}

void Program::collect_vocabulary_calls() {
  VocabularyCalls visitor;
  for (clang::Decl* declaration : ast_.getTranslationUnitDecl()->decls()) {
    if (is_vocabulary(declaration)) visitor.TraverseDecl(declaration);
  }
  for (const clang::FunctionDecl* function : visitor.called) {
    const Unit* unit = find(function);
    if (unit != nullptr && takers(*unit).empty()) called_by_vocabulary_.insert(unit);
  }
}

const clang::FunctionDecl* callee_of(const clang::Stmt* statement) {
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) return call->getDirectCallee();
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(statement)) return made->getConstructor();
  return nullptr;
}

std::vector<const clang::Expr*> arguments_of(const clang::Stmt* call) {
  std::vector<const clang::Expr*> arguments;
  const auto add = [&](const auto& range) {
    for (const clang::Expr* argument : range) {
      if (!llvm::isa<clang::CXXDefaultArgExpr>(argument)) arguments.push_back(argument);
    }
  };
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(call)) add(made->arguments());
  if (const auto* function = llvm::dyn_cast<clang::CallExpr>(call)) add(function->arguments());
  const auto* operation = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call);
  const bool has_object =
      operation != nullptr && llvm::isa_and_nonnull<clang::CXXMethodDecl>(operation->getDirectCallee());
  if (has_object) arguments.erase(arguments.begin());
  return arguments;
}

std::vector<const clang::FunctionDecl*> lambda_bodies(const clang::Expr* expression) {
  std::vector<const clang::FunctionDecl*> bodies;
  const clang::CXXRecordDecl* record = expression->getType().getNonReferenceType()->getAsCXXRecordDecl();
  if (record == nullptr || !record->isLambda()) return bodies;
  if (clang::FunctionTemplateDecl* generic = record->getDependentLambdaCallOperator()) {
    for (const clang::FunctionDecl* body : generic->specializations()) bodies.push_back(body);
  } else if (const clang::FunctionDecl* body = record->getLambdaCallOperator()) {
    bodies.push_back(body);
  }
  return bodies;
}

const clang::Expr* stripped(const clang::Expr* expression) {
  for (;;) {
    const clang::Expr* inner = expression->IgnoreParenCasts()->IgnoreImplicit();
    const auto* list = llvm::dyn_cast<clang::InitListExpr>(inner);
    if (list != nullptr && list->getNumInits() == 1 && !list->getType()->isRecordType() &&
        !list->getType()->isArrayType()) {
      inner = list->getInit(0);
    }
    if (inner == expression) return inner;
    expression = inner;
  }
}

const clang::VarDecl* variable_of(const clang::Expr* expression) {
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(stripped(expression));
  return reference == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
}

}  // namespace iris::clang_library::lint
