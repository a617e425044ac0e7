#include "runtime/jit/clang/lint/accesses.hpp"
#include "runtime/jit/clang/lint/rules.hpp"
#include "runtime/jit/clang/lint/symbols.hpp"
#include "runtime/jit/clang/lint/walk.hpp"

namespace iris::clang_library::lint {
namespace {

/// A store that the block has not made sure of.
struct PendingStore {
  const clang::Expr* store = nullptr;
  std::vector<Branch> branches = {};     ///< that led there
  const clang::Expr* meeting = nullptr;  ///< where the block has met since, without waiting for stores
  auto operator<=>(const PendingStore&) const = default;
};

/// A few of them: one is enough for a finding.
struct Pending {
  static constexpr std::size_t most = 8;

  std::set<PendingStore> stores = {};
  auto operator<=>(const Pending&) const = default;

  void add(const PendingStore& store) {
    if (stores.size() < most) stores.insert(store);
  }
  bool join(const Pending& other) {
    const std::size_t before = stores.size();
    for (const PendingStore& store : other.stores) add(store);
    return stores.size() != before;
  }
};

class SignalWatcher : public Watcher<Pending> {
 public:
  SignalWatcher(const Model& model, Findings& findings) : model_(model), findings_(findings), symbols_(model.program) {}

  void see(const clang::Stmt* statement, const Position& position, Pending& state) override {
    const Function* row = find_function(callee_of(statement));
    if (row == nullptr) {
      const auto access = plain_access(*position.unit, statement);
      if (access && access->stores && !is_own(access->pointer)) add(access->access, position, state);
      return;
    }
    if (row->effect == Effect::sync || row->effect == Effect::block_wait) {
      meet(llvm::cast<clang::Expr>(statement), state);
    } else if (is_of_whole_block(row->effect)) {
      state.stores.clear();
    }
    if (row->stores != no_argument) add(llvm::cast<clang::Expr>(statement), position, state);
  }

  /// Where a condition has another value than it had at a store, and nothing in it can have changed, there was no
  /// store.
  void take(const Branch& way, Pending& state) override {
    if (state.stores.empty()) return;
    std::erase_if(state.stores, [&](const PendingStore& pending) {
      return std::ranges::any_of(pending.branches, [&](const Branch& before) {
        return before.block != way.block && before.successor != way.successor && decide_alike(before.block, way.block);
      });
    });
  }

  void judge(const clang::Stmt* statement, const Position& position, const Pending& state) override {
    const Function* row = find_function(callee_of(statement));
    if (row == nullptr || row->effect != Effect::signal) return;
    const auto arguments = arguments_of(statement);
    // A flag for each thread: what a thread signals is its own.
    if ((model_.differences.of(arguments.at(static_cast<std::size_t>(row->flag))) & threads) != 0) return;
    const std::vector<Branch> here = parting_branches(position);
    for (const PendingStore& pending : state.stores) {
      const bool same_threads = std::ranges::any_of(here, [&](const Branch& branch) {
        return std::ranges::find(pending.branches, branch) != pending.branches.end();
      });
      if (!same_threads) return report(llvm::cast<clang::Expr>(statement), position, pending);
    }
  }

 private:
  void add(const clang::Expr* store, const Position& position, Pending& state) const {
    state.add({.store = store, .branches = position.branches});
  }

  static void meet(const clang::Expr* where, Pending& state) {
    std::set<PendingStore> met;
    for (PendingStore pending : state.stores) {
      if (pending.meeting == nullptr) pending.meeting = where;
      met.insert(std::move(pending));
    }
    state.stores = std::move(met);
  }

  bool decide_alike(const clang::CFGBlock* one, const clang::CFGBlock* other) const {
    const clang::Expr* left = condition_of(one);
    const clang::Expr* right = condition_of(other);
    if (left == nullptr || right == nullptr || one->succ_size() != 2 || other->succ_size() != 2) return false;
    llvm::FoldingSetNodeID first;
    llvm::FoldingSetNodeID second;
    left->IgnoreParenImpCasts()->Profile(first, model_.program.ast(), true);
    right->IgnoreParenImpCasts()->Profile(second, model_.program.ast(), true);
    return first == second && stays(left);
  }

  /// Whether an expression has one value in a launch, for one thread.
  bool stays(const clang::Stmt* expression) const {
    if (llvm::isa<clang::ArraySubscriptExpr>(expression)) return false;
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression);
    if (unary != nullptr && unary->getOpcode() == clang::UO_Deref) return false;
    if (const clang::FunctionDecl* callee = callee_of(expression)) {
      const Function* row = find_function(callee);
      if (row == nullptr || row->effect != Effect::none || row->atomic || row->loads != no_argument) return false;
    }
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression);
    const auto* variable = reference == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
    if (variable != nullptr && symbols_.is_modified(variable)) return false;
    return std::ranges::all_of(expression->children(),
                               [&](const clang::Stmt* child) { return child == nullptr || stays(child); });
  }

  std::vector<Branch> parting_branches(const Position& position) const {
    std::vector<Branch> parting;
    for (const Branch& branch : position.branches) {
      if ((model_.differences.of(branch) & threads) != 0) parting.push_back(branch);
    }
    return parting;
  }

  /// Memory of the thread alone, that of a local variable.
  static bool is_own(const clang::Expr* pointer) {
    const auto* address = llvm::dyn_cast<clang::UnaryOperator>(stripped(pointer));
    return llvm::isa<clang::CXXThisExpr>(stripped(pointer)) ||
           (address != nullptr && address->getOpcode() == clang::UO_AddrOf &&
            variable_of(address->getSubExpr()) != nullptr);
  }

  void report(const clang::Expr* signal, const Position& position, const PendingStore& pending) {
    const std::string message = pending.meeting == nullptr ? "the signal may be seen before what other threads of the "
                                                             "block have stored; call sync_block_after_stores() "
                                                             "before it, or block_signal_release()"
                                                           : "the signal may be seen before what other threads of the "
                                                             "block have stored: the block has met, but not waited "
                                                             "for its stores; call sync_block_after_stores()";
    Diagnostic* finding = findings_.add(unsynchronized_signal, signal->getSourceRange(), message);
    findings_.note(finding, pending.store->getSourceRange(), "stored here");
    if (pending.meeting != nullptr) {
      findings_.note(finding, pending.meeting->getSourceRange(), "met here");
      offer_sync(finding, pending.meeting);
    } else {
      offer_insertion(finding, signal, position);
    }
  }

  /// sync_block() that stands for itself.
  void offer_sync(Diagnostic* finding, const clang::Expr* meeting) const {
    const auto* call = llvm::dyn_cast<clang::CallExpr>(meeting);
    const auto* callee = call == nullptr ? nullptr : call->getDirectCallee();
    if (callee == nullptr || callee->getName() != "sync_block") return;
    const clang::SourceLocation name = call->getCallee()->IgnoreImpCasts()->getEndLoc();
    if (findings_.text_of(name) == "sync_block") findings_.replace(finding, name, "sync_block_after_stores");
  }

  /// Before the `if (thread_index() == 0)` around the signal, where that is all that is around it.
  void offer_insertion(Diagnostic* finding, const clang::Expr* signal, const Position& position) {
    const clang::ParentMap& parents = *position.unit->parents;
    const clang::Stmt* statement = signal;
    for (int steps = 0; steps < 4; ++steps) {
      const clang::Stmt* outer = parents.getParent(statement);
      if (outer == nullptr || llvm::isa<clang::CompoundStmt>(outer)) {
        const auto* choice =
            outer == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::IfStmt>(parents.getParent(outer));
        if (choice == nullptr || choice->getThen() != outer || *outer->child_begin() != statement) break;
        outer = choice;
      }
      const auto* choice = llvm::dyn_cast<clang::IfStmt>(outer);
      if (choice == nullptr) {
        statement = outer;
        continue;
      }
      const bool parts = (model_.differences.of(choice->getCond()) & threads) != 0;
      if (!parts || choice->getElse() != nullptr ||
          !llvm::isa_and_nonnull<clang::CompoundStmt>(parents.getParent(choice)))
        return;
      findings_.insert(finding, choice->getBeginLoc(), "iris::device::sync_block_after_stores(); ");
      return;
    }
  }

  const Model& model_;
  Findings& findings_;
  Symbols symbols_;
};

}  // namespace

void check_unsynchronized_signal(const Model& model, Findings& findings) {
  SignalWatcher watcher(model, findings);
  for (const auto& unit : model.program.units()) {
    if (!model.program.is_entry(*unit) && !model.program.is_called_by_vocabulary(*unit)) continue;
    Walk<Pending>(model, watcher, false).run(*unit, {});
  }
}

}  // namespace iris::clang_library::lint
