#include "runtime/jit/clang/read/calls.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace iris::clang_library {
namespace {

using clang::FunctionDecl;

/// A function's calls, in their order, and whether it asks the engine of the CPU for something.
class Body : public clang::DynamicRecursiveASTVisitor {
 public:
  struct Call {
    const FunctionDecl* callee;
    clang::SourceLocation where;
  };

  explicit Body(const FunctionDecl& function) {
    ShouldVisitImplicitCode = true;  // destructors
    TraverseStmt(function.getBody());
    const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&function);
    if (constructor == nullptr) return;
    for (const clang::CXXCtorInitializer* member : constructor->inits()) TraverseStmt(member->getInit());
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
    if (is_users(function.getLocation())) {
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
    if (callee.isConstexpr() || !is_users(way_.back().where)) return;
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

}  // namespace

void check_calls(const Parsed& parsed, const FunctionDecl& entry, bool of_values, Problems& problems) {
  Descent(parsed, of_values, problems).go(entry);
}

}  // namespace iris::clang_library
