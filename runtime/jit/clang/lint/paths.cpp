#include "runtime/jit/clang/lint/paths.hpp"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace iris::clang_library::lint {
namespace {

/// The way that is taken where a wait was given up: 0, of true; 1, of false. None: the condition says nothing of waits.
std::optional<unsigned> way_of_failure(const clang::CFGBlock* block, const Outcomes& outcomes) {
  const clang::Expr* condition = condition_of(block);
  const bool is_switch = llvm::isa_and_nonnull<clang::SwitchStmt>(block->getTerminatorStmt());
  if (condition == nullptr || is_switch || block->succ_size() != 2) return std::nullopt;
  unsigned way = 1;
  condition = stripped(condition);
  for (;;) {
    const auto* negation = llvm::dyn_cast<clang::UnaryOperator>(condition);
    if (negation == nullptr || negation->getOpcode() != clang::UO_LNot) break;
    way = 1 - way;
    condition = stripped(negation->getSubExpr());
  }
  return outcomes.is_outcome(condition) ? std::optional(way) : std::nullopt;
}

}  // namespace

Paths::Paths(const Unit& unit, const Outcomes& outcomes) : unit_(unit), successors_(unit.cfg->getNumBlockIDs()) {
  for (const clang::CFGBlock* block : *unit.cfg) {
    const std::optional<unsigned> failure = way_of_failure(block, outcomes);
    auto& ways = successors_[block->getBlockID()];
    for (const clang::CFGBlock::AdjacentBlock& next : block->succs()) ways.push_back(next.getReachableBlock());
    if (failure && ways[1 - *failure] != nullptr) ways[*failure] = nullptr;
  }
  find_order();
  find_where_blocks_lead();
  find_postdominators();
  find_branches();
  find_loops();
}

const clang::CFGBlock* Paths::successor(const clang::CFGBlock* block, unsigned number) const {
  return successors_[block->getBlockID()][number];
}

std::vector<const clang::CFGBlock*> Paths::successors(const clang::CFGBlock* block) const {
  std::vector<const clang::CFGBlock*> taken;
  for (const clang::CFGBlock* next : successors_[block->getBlockID()]) {
    if (next != nullptr && std::ranges::find(taken, next) == taken.end()) taken.push_back(next);
  }
  return taken;
}

void Paths::find_order() {
  const unsigned count = unit_.cfg->getNumBlockIDs();
  reachable_.resize(count);
  position_.resize(count);
  // Depth first, without recursion: a function may have any number of blocks.
  struct Visit {
    const clang::CFGBlock* block;
    std::vector<const clang::CFGBlock*> next;
  };
  std::vector<Visit> stack;
  const auto enter = [&](const clang::CFGBlock* block) {
    reachable_.set(block->getBlockID());
    stack.push_back({block, successors(block)});
  };
  enter(&unit_.cfg->getEntry());
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next.empty()) {
      order_.push_back(visit.block);
      stack.pop_back();
      continue;
    }
    const clang::CFGBlock* next = visit.next.back();
    visit.next.pop_back();
    if (!reachable_.test(next->getBlockID())) enter(next);
  }
  std::ranges::reverse(order_);
  for (unsigned i = 0; i < order_.size(); ++i) position_[order_[i]->getBlockID()] = i;
}

void Paths::find_postdominators() {
  const unsigned count = unit_.cfg->getNumBlockIDs();
  postdominators_.assign(count, llvm::BitVector(count, true));
  const clang::CFGBlock* exit = &unit_.cfg->getExit();
  postdominators_[exit->getBlockID()] = llvm::BitVector(count);
  postdominators_[exit->getBlockID()].set(exit->getBlockID());
  for (bool changed = true; changed;) {
    changed = false;
    for (const clang::CFGBlock* block : llvm::reverse(order_)) {
      if (block == exit) continue;
      llvm::BitVector common(count, true);
      for (const clang::CFGBlock* next : successors(block)) common &= postdominators_[next->getBlockID()];
      common.set(block->getBlockID());
      if (common == postdominators_[block->getBlockID()]) continue;
      postdominators_[block->getBlockID()] = std::move(common);
      changed = true;
    }
  }
}

void Paths::find_branches() {
  for (const clang::CFGBlock* block : order_) {
    if (successors(block).size() < 2) continue;
    const auto& ways = successors_[block->getBlockID()];
    for (unsigned way = 0; way < ways.size(); ++way) {
      if (ways[way] == nullptr) continue;
      for (const clang::CFGBlock* decided : order_) {
        const bool always_after = postdominators_[block->getBlockID()].test(decided->getBlockID()) && decided != block;
        const bool on_this_way = postdominators_[ways[way]->getBlockID()].test(decided->getBlockID());
        if (on_this_way && !always_after) branches_[decided].push_back({block, way});
      }
    }
  }
}

std::vector<Branch> Paths::branches_to(const clang::CFGBlock* block) const {
  std::set<Branch> found;
  std::set<const clang::CFGBlock*> asked = {block};
  std::vector<const clang::CFGBlock*> open = {block};
  while (!open.empty()) {
    const clang::CFGBlock* next = open.back();
    open.pop_back();
    const auto direct = branches_.find(next);
    if (direct == branches_.end()) continue;
    for (const Branch& branch : direct->second) {
      found.insert(branch);
      if (asked.insert(branch.block).second) open.push_back(branch.block);
    }
  }
  return {found.begin(), found.end()};
}

const clang::CFGBlock* Paths::join_of(const clang::CFGBlock* branch) const {
  // Of the blocks that all ways come to, the one that comes to all others.
  const llvm::BitVector& after = postdominators_[branch->getBlockID()];
  const clang::CFGBlock* nearest = nullptr;
  for (const clang::CFGBlock* block : order_) {
    if (block == branch || !after.test(block->getBlockID())) continue;
    if (nearest == nullptr ||
        postdominators_[block->getBlockID()].count() > postdominators_[nearest->getBlockID()].count()) {
      nearest = block;
    }
  }
  return nearest;
}

bool Paths::leads(const clang::CFGBlock* from, const clang::CFGBlock* to) const {
  return led_to_[from->getBlockID()].test(to->getBlockID());
}

void Paths::find_where_blocks_lead() {
  const unsigned count = unit_.cfg->getNumBlockIDs();
  led_to_.assign(count, llvm::BitVector(count));
  for (bool changed = true; changed;) {
    changed = false;
    for (const clang::CFGBlock* block : llvm::reverse(order_)) {
      llvm::BitVector all = led_to_[block->getBlockID()];
      for (const clang::CFGBlock* next : successors(block)) {
        all |= led_to_[next->getBlockID()];
        all.set(next->getBlockID());
      }
      if (all == led_to_[block->getBlockID()]) continue;
      led_to_[block->getBlockID()] = std::move(all);
      changed = true;
    }
  }
}

bool Paths::is_back_edge(const clang::CFGBlock* from, const clang::CFGBlock* to) const {
  return position_[to->getBlockID()] <= position_[from->getBlockID()];
}

void Paths::find_loops() {
  // A condition with && or || is several branches, of which the last one bears the loop.
  std::set<const clang::Stmt*> conditions;
  const auto add = [&](const auto& self, const clang::Expr* condition) -> void {
    if (condition == nullptr || !conditions.insert(stripped(condition)).second) return;
    const auto* both = llvm::dyn_cast<clang::BinaryOperator>(stripped(condition));
    if (both == nullptr || !both->isLogicalOp()) return;
    self(self, both->getLHS());
    self(self, both->getRHS());
  };
  for (const clang::CFGBlock* block : order_) {
    const clang::Stmt* terminator = block->getTerminatorStmt();
    if (terminator == nullptr) continue;
    if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(terminator)) add(add, loop->getCond());
    if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(terminator)) add(add, loop->getCond());
    if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(terminator)) add(add, loop->getCond());
    if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(terminator))
      loops_.insert(block);
  }
  for (const clang::CFGBlock* block : order_) {
    const clang::Stmt* terminator = block->getTerminatorStmt();
    if (terminator != nullptr && conditions.contains(terminator)) loops_.insert(block);
  }
}

const clang::Expr* condition_of(const clang::CFGBlock* block) {
  // Of `a && b` the last block decides by b.
  if (const clang::Expr* last = block->getLastCondition()) return last;
  return llvm::dyn_cast_or_null<clang::Expr>(block->getTerminatorCondition());
}

}  // namespace iris::clang_library::lint
