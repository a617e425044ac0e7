#pragma once

#include <llvm/ADT/BitVector.h>

#include <map>
#include <set>
#include <vector>

#include "runtime/jit/clang/lint/outcomes.hpp"

namespace iris::clang_library::lint {

/// A branch that decides whether a block is come to.
struct Branch {
  const clang::CFGBlock* block = nullptr;
  unsigned successor = 0;  ///< which of its ways leads there
  auto operator<=>(const Branch&) const = default;
};

/// The ways through a function, without those on which a wait was given up.
class Paths {
 public:
  Paths(const Unit& unit, const Outcomes& outcomes);

  const Unit& unit() const { return unit_; }
  bool is_reachable(const clang::CFGBlock* block) const { return reachable_.test(block->getBlockID()); }
  /// nullptr where a way is left out.
  const clang::CFGBlock* successor(const clang::CFGBlock* block, unsigned number) const;
  /// Those that are taken, each once.
  std::vector<const clang::CFGBlock*> successors(const clang::CFGBlock* block) const;

  /// All branches on which it depends whether a block is come to, those of outer conditions among them (control
  /// dependence as Ferrante, Ottenstein and Warren define it, 1987).
  std::vector<Branch> branches_to(const clang::CFGBlock* block) const;
  /// The block where the ways from a branch have all met again; nullptr: none.
  const clang::CFGBlock* join_of(const clang::CFGBlock* branch) const;
  /// Whether some way leads from one block to another, through one edge at least.
  bool leads(const clang::CFGBlock* from, const clang::CFGBlock* to) const;
  /// Whether a branch goes on with a loop or ends it.
  bool is_loop(const clang::CFGBlock* block) const { return loops_.contains(block); }
  /// Whether the edge leads back to the head of a loop.
  bool is_back_edge(const clang::CFGBlock* from, const clang::CFGBlock* to) const;
  /// Reachable blocks, each before those that follow it but for loops.
  const std::vector<const clang::CFGBlock*>& order() const { return order_; }

 private:
  void find_order();
  void find_where_blocks_lead();
  void find_postdominators();
  void find_branches();
  void find_loops();

  const Unit& unit_;
  std::vector<std::vector<const clang::CFGBlock*>> successors_;  // by block, nullptr where left out
  llvm::BitVector reachable_;
  std::vector<const clang::CFGBlock*> order_;
  std::vector<unsigned> position_;                                  // in order_, by block
  std::vector<llvm::BitVector> led_to_;                             // by block, through one edge at least
  std::vector<llvm::BitVector> postdominators_;                     // by block, itself among them
  std::map<const clang::CFGBlock*, std::vector<Branch>> branches_;  // direct ones
  std::set<const clang::CFGBlock*> loops_;
};

/// What a branch decides by; nullptr: nothing.
const clang::Expr* condition_of(const clang::CFGBlock* block);

}  // namespace iris::clang_library::lint
