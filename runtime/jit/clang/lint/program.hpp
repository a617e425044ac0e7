#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMap.h>
#include <clang/Analysis/CFG.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/jit/clang/lint/vocabulary.hpp"

namespace iris::clang_library::lint {

/// A function of the user's that has a body and is no template any more, or the body of a lambda.
struct Unit {
  const clang::FunctionDecl* function = nullptr;
  std::unique_ptr<clang::CFG> cfg = {};
  std::unique_ptr<clang::ParentMap> parents = {};
};

struct CallSite {
  const Unit* unit = nullptr;
  const clang::CFGBlock* block = nullptr;
  const clang::Expr* call = nullptr;
};

/// All that the user wrote, as the rules see it.
class Program {
 public:
  explicit Program(clang::ASTContext& ast);

  clang::ASTContext& ast() const { return ast_; }
  const clang::SourceManager& sources() const { return ast_.getSourceManager(); }
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  /// Those that have too many blocks to be followed, or came when there were too many in all.
  const std::vector<const clang::FunctionDecl*>& left_out() const { return left_out_; }
  /// nullptr: the function is the vocabulary's, or has no body, or is left out.
  const Unit* find(const clang::FunctionDecl* function) const;

  /// Where the user's functions call it.
  const std::vector<CallSite>& callers(const Unit& unit) const;
  /// Where a lambda is handed to a function of the vocabulary.
  const std::vector<CallSite>& takers(const Unit& unit) const;
  /// Whether the vocabulary calls it by other ways, as a member function of what it is given: when, nobody knows here.
  bool is_called_by_vocabulary(const Unit& unit) const;
  /// Nobody calls it: what a launch begins with.
  bool is_entry(const Unit& unit) const;

 private:
  void collect_calls(const Unit& unit);
  void collect_vocabulary_calls();

  clang::ASTContext& ast_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<const clang::FunctionDecl*> left_out_;
  std::map<const clang::FunctionDecl*, const Unit*> by_function_;
  std::map<const Unit*, std::vector<CallSite>> callers_;
  std::map<const Unit*, std::vector<CallSite>> takers_;
  std::set<const Unit*> called_by_vocabulary_;
};

/// The function that is called, by an expression of whatever kind; nullptr: not known, or no call.
const clang::FunctionDecl* callee_of(const clang::Stmt* statement);

/// Arguments of a call, without the object of a member function and without defaults.
std::vector<const clang::Expr*> arguments_of(const clang::Stmt* call);

/// The bodies of the lambda that an expression is: as many as there are types that it is called with.
std::vector<const clang::FunctionDecl*> lambda_bodies(const clang::Expr* expression);

/// Without parentheses, casts, temporaries and single braces.
const clang::Expr* stripped(const clang::Expr* expression);

/// The variable that an expression is, stripped; nullptr: another expression.
const clang::VarDecl* variable_of(const clang::Expr* expression);

/// Statements of a function in the order of evaluation, with their blocks; not those of lambdas within it.
template <typename Visit>
void for_each_statement(const Unit& unit, const Visit& visit) {
  for (const clang::CFGBlock* block : *unit.cfg) {
    for (const clang::CFGElement& element : *block) {
      if (const auto statement = element.getAs<clang::CFGStmt>()) visit(block, statement->getStmt());
    }
  }
}

}  // namespace iris::clang_library::lint
