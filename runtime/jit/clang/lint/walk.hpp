#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/jit/clang/lint/model.hpp"

namespace iris::clang_library::lint {

/// Where a walk is: a block, and the branches that led there, those of the callers among them.
struct Position {
  const Unit* unit = nullptr;
  const clang::CFGBlock* block = nullptr;
  std::vector<Branch> branches = {};
};

/// What a rule makes of statements as they come. `State` is what it knows at a place: it can be compared (<), and
/// `join` adds what another way brings. What it knows can only grow by join.
template <typename State>
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// In the order of evaluation. A call of the vocabulary comes after what is handed to it has been called.
  virtual void see(const clang::Stmt* statement, const Position& position, State& state) = 0;
  /// A way of a branch is taken.
  virtual void take(const Branch& /*way*/, State& /*state*/) {}
  /// As see(), once the state is all that can be known there.
  virtual void judge(const clang::Stmt* statement, const Position& position, const State& state) = 0;
};

/// Follows all ways through a function, the user's functions that it calls, and lambdas that it hands to the
/// vocabulary.
template <typename State>
class Walk {
 public:
  /// `once`: loops are passed once.
  Walk(const Model& model, Watcher<State>& watcher, bool once) : model_(model), watcher_(watcher), once_(once) {}

  void run(const Unit& entry, const State& state) { (void)follow(entry, state, {}, true); }

 private:
  using Key = std::tuple<const Unit*, State, std::vector<Branch>, bool>;
  static constexpr std::size_t max_depth = 24;
  static constexpr int max_blocks = 200'000;  // of a source that is not worth more

  /// The state at the end; nothing where it is never reached.
  std::optional<State> follow(const Unit& unit, const State& state, const std::vector<Branch>& branches, bool judging) {
    const Key key(&unit, state, branches, judging);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (depth_ >= max_depth) return state;
    known_[key] = state;  // a recursion changes nothing
    ++depth_;
    const Paths& paths = model_.paths.at(&unit);
    std::map<const clang::CFGBlock*, State> begins = {{&unit.cfg->getEntry(), state}};
    for (bool changed = true; changed;) {
      changed = false;
      for (const clang::CFGBlock* block : paths.order()) {
        const auto begin = begins.find(block);
        if (begin == begins.end() || ++blocks_ > max_blocks) continue;
        std::optional<State> end = pass(unit, block, begin->second, branches, false);
        if (!end) continue;
        for (const clang::CFGBlock* next : ways_on(paths, block)) {
          State there = *end;
          if (paths.successors(block).size() == block->succ_size()) {
            for (unsigned way = 0; way < block->succ_size(); ++way) {
              if (paths.successor(block, way) == next) watcher_.take({block, way}, there);
            }
          }
          const auto [place, is_new] = begins.try_emplace(next, there);
          changed = (is_new || place->second.join(there)) || changed;
        }
      }
    }
    if (judging) {
      for (const auto& [block, begin] : begins) (void)pass(unit, block, begin, branches, true);
    }
    --depth_;
    const auto end = begins.find(&unit.cfg->getExit());
    return known_[key] = end == begins.end() ? std::nullopt : std::optional(end->second);
  }

  /// Where loops are passed once, what follows the loop takes the place of its next pass.
  std::vector<const clang::CFGBlock*> ways_on(const Paths& paths, const clang::CFGBlock* block) const {
    if (!once_) return paths.successors(block);
    std::vector<const clang::CFGBlock*> ways;
    for (const clang::CFGBlock* next : paths.successors(block)) {
      if (!paths.is_back_edge(block, next)) {
        ways.push_back(next);
        continue;
      }
      for (const clang::CFGBlock* after : paths.successors(next)) {
        if (!paths.leads(after, next)) ways.push_back(after);
      }
    }
    return ways;
  }

  std::optional<State> pass(const Unit& unit, const clang::CFGBlock* block, State state,
                            const std::vector<Branch>& outer, bool judging) {
    Position position = {&unit, block, outer};
    for (const Branch& branch : model_.paths.at(&unit).branches_to(block)) position.branches.push_back(branch);
    for (const clang::CFGElement& element : *block) {
      const auto held = element.getAs<clang::CFGStmt>();
      if (!held) continue;
      const clang::Stmt* statement = held->getStmt();
      if (const clang::FunctionDecl* callee = callee_of(statement)) {
        const Unit* called = model_.program.find(callee);
        if (called != nullptr) {
          const auto end = follow(*called, state, position.branches, judging);
          if (!end) return std::nullopt;
          state = *end;
        }
        // What a loop over elements is given comes before what follows; what a main loop is given it calls in between.
        const Function* row = find_function(callee);
        if (row != nullptr && row->effect == Effect::main_loop) watcher_.see(statement, position, state);
        if (called == nullptr) pass_lambdas(statement, position, state, judging);
      }
      if (judging) watcher_.judge(statement, position, state);
      watcher_.see(statement, position, state);
    }
    return state;
  }

  /// They are called any number of times, or never.
  void pass_lambdas(const clang::Stmt* call, const Position& position, State& state, bool judging) {
    for (const clang::Expr* argument : arguments_of(call)) {
      for (const clang::FunctionDecl* body : lambda_bodies(argument)) {
        const Unit* lambda = model_.program.find(body);
        if (lambda == nullptr) continue;
        for (int time = 0; time < (once_ ? 1 : 2); ++time) {
          const auto end = follow(*lambda, state, position.branches, judging);
          if (end) state.join(*end);
        }
      }
    }
  }

  const Model& model_;
  Watcher<State>& watcher_;
  bool once_;
  std::size_t depth_ = 0;
  int blocks_ = 0;
  std::map<Key, std::optional<State>> known_;
};

}  // namespace iris::clang_library::lint
