#include "runtime/jit/clang/read/calls.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace iris::clang_library {
namespace {

using clang::FunctionDecl;

bool is_lambda(const FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->getParent()->isLambda();
}

/// Lambdas are, whether or not the user means it.
bool is_constexpr(const FunctionDecl& function) {
  return function.isConstexpr() && !is_lambda(function);
}

/// What runs of a function: neither operands of decltype and the like nor branches that a constant discards.
class Running : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Running(const clang::ASTContext& ast) : ast_(ast) {}

  bool TraverseTypeLoc(clang::TypeLoc, bool) override { return true; }
  bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) override { return true; }
  bool TraverseCXXNoexceptExpr(clang::CXXNoexceptExpr*) override { return true; }
  bool TraverseStaticAssertDecl(clang::StaticAssertDecl*) override { return true; }
  bool TraverseIfStmt(clang::IfStmt* statement) override {
    const auto taken = statement->getNondiscardedCase(ast_);
    if (!taken) return clang::DynamicRecursiveASTVisitor::TraverseIfStmt(statement);
    return TraverseStmt(statement->getInit()) && TraverseStmt(*taken);
  }

 private:
  const clang::ASTContext& ast_;
};

/// A function's calls, in their order, and whether it asks the engine of the CPU for something. Lambdas are functions
/// of their own.
class Body : public Running {
 public:
  struct Call {
    const FunctionDecl* callee;
    clang::SourceLocation where;
  };

  explicit Body(const FunctionDecl& function) : Running(function.getASTContext()) {
    ShouldVisitImplicitCode = true;  // destructors
    TraverseStmt(function.getBody());
    const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&function);
    if (constructor == nullptr) return;
    for (const clang::CXXCtorInitializer* member : constructor->inits()) TraverseStmt(member->getInit());
  }

  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    return std::ranges::all_of(lambda->capture_inits(), [&](clang::Expr* init) { return TraverseStmt(init); });
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) override {
    add(reference->getDecl(), reference->getExprLoc());
    const clang::IdentifierInfo* name = reference->getDecl()->getIdentifier();
    asks_engine = asks_engine || (name != nullptr && name->getName() == "iris_host_engine");
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    add(member->getMemberDecl(), member->getExprLoc());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) override {
    add(construction->getConstructor(), construction->getExprLoc());
    add(construction->getConstructor()->getParent()->getDestructor(), construction->getExprLoc());
    return true;
  }
  bool VisitCXXNewExpr(clang::CXXNewExpr* expression) override {
    if (expression->getNumPlacementArgs() == 0) allocations.push_back(expression->getExprLoc());
    return true;
  }
  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr* expression) override {
    allocations.push_back(expression->getExprLoc());
    return true;
  }

  std::vector<Call> calls;
  std::vector<clang::SourceLocation> allocations;
  bool asks_engine = false;

 private:
  void add(const clang::Decl* declaration, clang::SourceLocation where) {
    const auto* function = llvm::dyn_cast_or_null<FunctionDecl>(declaration);
    const FunctionDecl* definition = function == nullptr ? nullptr : function->getDefinition();
    if (definition != nullptr && definition->hasBody()) calls.push_back({definition, where});
  }
};

/// Goes down from the entry, each function once, and remembers the way.
class Descent {
 public:
  Descent(const Parsed& parsed, bool of_values, Problems& problems)
      : parsed_(parsed), of_values_(of_values), problems_(problems) {}

  void go(const FunctionDecl& function) {
    if (!seen_.emplace(&function, true).second) return;
    const Body body(function);
    if (is_users(function.getLocation()) && !is_constexpr(function)) {
      for (const clang::SourceLocation where : body.allocations) {
        problems_.add(where, "kernels have no allocator; use an array, or ask for a workspace");
      }
    }
    if (body.asks_engine && of_values_) refuse_threads(function);
    for (const Body::Call& call : body.calls) {
      way_.push_back({&function, call.where});
      const auto below = seen_.find(call.callee);
      if (below != seen_.end() && below->second) refuse_recursion(*call.callee);
      go(*call.callee);
      way_.pop_back();
    }
    seen_[&function] = false;
  }

 private:
  struct Step {
    const FunctionDecl* caller;
    clang::SourceLocation where;
  };

  bool is_users(clang::SourceLocation where) const {
    return !parsed_.sources().isInSystemHeader(parsed_.sources().getExpansionLoc(where));
  }

  void refuse_recursion(const FunctionDecl& callee) {
    if (is_constexpr(callee) || !is_users(way_.back().where)) return;
    const FunctionDecl* caller = way_.back().caller;
    const std::string name = "'" + callee.getNameAsString() + "'";
    problems_.add(way_.back().where, name + (caller == &callee ? " calls itself" : " is called again before it ends") +
                                         ", for which a thread has no stack; write a loop");
  }

  /// At the place in the user's file from which it comes to that function of the vocabulary.
  void refuse_threads(const FunctionDecl& function) {
    const auto last =
        std::ranges::find_if(way_.rbegin(), way_.rend(), [&](const Step& step) { return is_users(step.where); });
    if (last == way_.rend()) return;
    problems_.add(last->where,
                  "an element's value cannot depend on the thread that computes it, nor can its threads "
                  "meet ('" +
                      function.getNameAsString() + "'); the reference has none");
  }

  const Parsed& parsed_;
  bool of_values_;
  Problems& problems_;
  std::map<const FunctionDecl*, bool> seen_;  ///< whether the descent is below it
  std::vector<Step> way_;
};

/// The arguments of a function of the vocabulary that are addresses on this rank of what is reached on another.
std::vector<unsigned> reached_elsewhere(const clang::CallExpr& call) {
  const FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || !callee->getDeclName().isIdentifier()) return {};
  static const std::map<std::string, std::pair<unsigned, std::vector<unsigned>>> functions = {
      {"load", {3, {1}}},    {"store", {4, {1}}},   {"get", {5, {1}}},     {"put", {5, {2}}},
      {"copy", {6, {1, 2}}}, {"on_rank", {3, {1}}}, {"on_peers", {2, {1}}}};
  const auto found = functions.find(callee->getName().str());
  const bool fits = found != functions.end() && call.getNumArgs() == found->second.first &&
                    callee->getQualifiedNameAsString() == "iris::device::" + found->first;
  return fits ? found->second.second : std::vector<unsigned>();
}

/// Variables that are given another value, or may be.
class Assigned : public clang::DynamicRecursiveASTVisitor {
 public:
  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    return !operation->isAssignmentOp() || note(operation->getLHS());
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    const bool changes = operation->isIncrementDecrementOp() || operation->getOpcode() == clang::UO_AddrOf;
    return !changes || note(operation->getSubExpr());
  }

  std::set<const clang::ValueDecl*> variables;

 private:
  bool note(const clang::Expr* place) {
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(place->IgnoreParenImpCasts());
    if (reference != nullptr) variables.insert(reference->getDecl());
    return true;
  }
};

class Reached : public Running {
 public:
  Reached(const FunctionDecl& entry, Problems& problems)
      : Running(entry.getASTContext()), entry_(entry), problems_(problems) {
    assigned_.TraverseStmt(entry.getBody());
    TraverseStmt(entry.getBody());
  }

  bool VisitCallExpr(clang::CallExpr* call) override {
    for (const unsigned argument : reached_elsewhere(*call)) {
      const clang::ParmVarDecl* buffer = buffer_of(call->getArg(argument), 0);
      if (buffer == nullptr || is_symmetric(*buffer)) continue;
      problems_.add(call->getArg(argument)->getBeginLoc(),
                    "'" + buffer->getNameAsString() + "' is reached on another rank, and launches would take any " +
                        "memory for it; write IRIS_SYMMETRIC before its type, at " +
                        problems_.place_text(buffer->getLocation()));
    }
    return true;
  }

 private:
  /// Of an address within a buffer the entry's parameter that is its beginning; null if that is not plain.
  const clang::ParmVarDecl* buffer_of(const clang::Expr* address, int depth) const {
    constexpr int most = 32;
    address = address->IgnoreParenImpCasts();
    if (depth > most) return nullptr;
    if (const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(address); sum != nullptr && sum->isAdditiveOp()) {
      const bool left = sum->getLHS()->getType()->isPointerType();
      return buffer_of(left ? sum->getLHS() : sum->getRHS(), depth + 1);
    }
    if (const auto* taken = llvm::dyn_cast<clang::UnaryOperator>(address);
        taken != nullptr && taken->getOpcode() == clang::UO_AddrOf) {
      const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(taken->getSubExpr()->IgnoreParenImpCasts());
      return element == nullptr ? nullptr : buffer_of(element->getBase(), depth + 1);
    }
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(address);
    if (reference == nullptr || assigned_.variables.contains(reference->getDecl())) return nullptr;
    if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(reference->getDecl()))
      return parameter->getDeclContext() == &entry_ ? parameter : nullptr;
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
    const bool is_pointer = variable != nullptr && variable->getType()->isPointerType() && variable->hasInit();
    return is_pointer ? buffer_of(variable->getInit(), depth + 1) : nullptr;
  }

  const FunctionDecl& entry_;
  Problems& problems_;
  Assigned assigned_;
};

}  // namespace

void check_symmetric(const FunctionDecl& entry, Problems& problems) {
  const Reached reached(entry, problems);
}

void check_calls(const Parsed& parsed, const FunctionDecl& entry, bool of_values, Problems& problems) {
  Descent(parsed, of_values, problems).go(entry);
}

}  // namespace iris::clang_library
