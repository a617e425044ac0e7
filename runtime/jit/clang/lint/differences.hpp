#pragma once

#include <map>

#include "runtime/jit/clang/lint/paths.hpp"

namespace iris::clang_library::lint {

/// Among whom values differ: a set of Difference. What a launch passes is alike on all ranks; what memory holds differs
/// as its address does. A value that is assigned only on a branch differs as the branch's condition does.
class Differences {
 public:
  Differences(const Program& program, const std::map<const Unit*, Paths>& paths);

  unsigned of(const clang::Expr* expression) const;
  /// Of the branch's condition; a loop's says who leaves it when.
  unsigned of(const Branch& branch) const;

 private:
  unsigned of_call(const clang::Expr* call) const;
  unsigned of_children(const clang::Stmt* statement) const;
  unsigned of_branches(const Unit& unit, const clang::CFGBlock* block, const clang::ValueDecl* assigned) const;
  void learn(const Unit& unit, const clang::CFGBlock* block, const clang::Stmt* statement);
  void learn_call(const clang::Stmt* call);
  void learn_parameters(const Unit& unit);
  void learn_initializers(const Unit& unit);
  void assign(const Unit& unit, const clang::CFGBlock* block, const clang::Expr* target, unsigned difference);
  void add(const void* what, unsigned difference);

  const Program& program_;
  const std::map<const Unit*, Paths>& paths_;
  std::map<const void*, unsigned> known_;  // by variable, field, or unit, of which it is the result
  std::map<const clang::ValueDecl*, std::pair<const Unit*, const clang::CFGBlock*>> declared_;
  bool changed_ = false;
};

/// "threads", "ranks", "threads and ranks": how sentences name a set of them.
std::string words_of(unsigned difference);

}  // namespace iris::clang_library::lint
