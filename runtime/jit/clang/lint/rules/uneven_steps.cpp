#include <clang/AST/StmtCXX.h>

#include "runtime/jit/clang/lint/rules.hpp"
#include "runtime/jit/clang/lint/symbols.hpp"
#include "runtime/jit/clang/lint/tally.hpp"

namespace iris::clang_library::lint {
namespace {

struct Place {
  const clang::CFGBlock* block = nullptr;
  const clang::Stmt* statement = nullptr;
};

/// A variable that counts steps: where it is counted up, and where it is taken for one.
struct Counter {
  std::vector<Place> counted = {};
  std::vector<Place> taken = {};
};

const clang::Expr* argument_of(const clang::Stmt* call, int index) {
  return index == no_argument ? nullptr : arguments_of(call).at(static_cast<std::size_t>(index));
}

/// `n`, or `n++` as it stands in an argument.
const clang::VarDecl* counter_of(const clang::Expr* step) {
  const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(stripped(step));
  if (unary != nullptr && unary->isIncrementOp()) return variable_of(unary->getSubExpr());
  return variable_of(step);
}

/// By how much a statement counts a variable up.
Tally count_of(const clang::Stmt* statement, const clang::VarDecl* variable, const clang::ASTContext& ast) {
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
    if (!unary->isIncrementDecrementOp() || variable_of(unary->getSubExpr()) != variable) return {};
    return unary->isIncrementOp() ? Tally{1, 1, false} : Tally{1, 1, true};
  }
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  if (binary == nullptr || !binary->isAssignmentOp() || variable_of(binary->getLHS()) != variable) return {};
  clang::Expr::EvalResult amount;
  if (binary->getOpcode() != clang::BO_AddAssign || !binary->getRHS()->EvaluateAsInt(amount, ast)) return {1, 1, true};
  const auto value = static_cast<int>(amount.Val.getInt().getLimitedValue(1 << 20));
  return {value, value, false};
}

class UnevenSteps {
 public:
  UnevenSteps(const Model& model, Findings& findings)
      : model_(model), findings_(findings), symbols_(model.program), ast_(model.program.ast()) {}

  void check(const Unit& unit) {
    check_counters(unit);
    std::vector<Place> signals;
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      const Function* row = find_function(callee_of(statement));
      if (row == nullptr || row->step == no_argument || row->outcome) return;
      check_loops(unit, block, statement, *row);
      signals.push_back({block, statement});
    });
    for (const Place& first : signals) {
      for (const Place& second : signals) check_pair(unit, first, second);
    }
  }

 private:
  // Steps that ranks count differently.

  std::map<const clang::VarDecl*, Counter> counters_of(const Unit& unit) const {
    std::map<const clang::VarDecl*, Counter> counters;
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      const Function* row = find_function(callee_of(statement));
      if (row == nullptr || row->step == no_argument) return;
      const clang::VarDecl* variable = counter_of(argument_of(statement, row->step));
      if (variable != nullptr && symbols_.is_modified(variable)) counters[variable].taken.push_back({block, statement});
    });
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      for (auto& [variable, counter] : counters) {
        if (count_of(statement, variable, ast_).most > 0) counter.counted.push_back({block, statement});
      }
    });
    return counters;
  }

  void check_counters(const Unit& unit) {
    const Paths& paths = model_.paths.at(&unit);
    for (const auto& [variable, counter] : counters_of(unit)) {
      const std::vector<Branch> around = branches_of_declaration(unit, variable);
      for (const Place& place : counter.counted) {
        for (const Branch& branch : paths.branches_to(place.block)) {
          if ((model_.differences.of(branch) & ranks) == 0 || std::ranges::find(around, branch) != around.end())
            continue;
          if (counts_evenly(unit, branch, variable) || !is_taken_elsewhere(paths, counter, branch)) continue;
          Diagnostic* finding = findings_.add(
              uneven_steps, place.statement->getSourceRange(),
              "steps are counted differently by ranks that come here and by those that do not: '" +
                  variable->getNameAsString() + "' then means another step to each of them; count it up on every path");
          findings_.note(finding, condition_of(branch.block)->getSourceRange(), "this differs among ranks");
        }
      }
    }
  }

  std::vector<Branch> branches_of_declaration(const Unit& unit, const clang::VarDecl* variable) const {
    std::vector<Branch> branches;
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
      if (declaration == nullptr || !declaration->isSingleDecl() || declaration->getSingleDecl() != variable) return;
      branches = model_.paths.at(&unit).branches_to(block);
    });
    return branches;
  }

  bool counts_evenly(const Unit& unit, const Branch& branch, const clang::VarDecl* variable) const {
    return may_be_even(model_.paths.at(&unit), branch.block, [&](const clang::CFGBlock* block) {
      Tally sum;
      for (const clang::CFGElement& element : *block) {
        const auto held = element.getAs<clang::CFGStmt>();
        if (!held) continue;
        const Tally one = count_of(held->getStmt(), variable, ast_);
        sum = {sum.least + one.least, sum.most + one.most, sum.open || one.open};
      }
      return sum;
    });
  }

  /// Where only those ranks take the step that count it, they agree among themselves.
  static bool is_taken_elsewhere(const Paths& paths, const Counter& counter, const Branch& branch) {
    return std::ranges::any_of(counter.taken, [&](const Place& place) {
      const auto branches = paths.branches_to(place.block);
      return std::ranges::find(branches, branch) == branches.end();
    });
  }

  // Steps that do not count up.

  void check_loops(const Unit& unit, const clang::CFGBlock* block, const clang::Stmt* signal, const Function& row) {
    const Paths& paths = model_.paths.at(&unit);
    if (!paths.leads(block, block)) return;
    for (const clang::Stmt* outer = unit.parents->getParent(signal); outer != nullptr;
         outer = unit.parents->getParent(outer)) {
      if (!llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(outer)) continue;
      std::set<const clang::VarDecl*> changing;
      collect_changing(outer, changing);
      for (const int index : {row.flag, row.step, row.peer}) {
        const clang::Expr* argument = argument_of(signal, index);
        if (argument != nullptr && may_change(argument, changing)) return;  // in outer loops, too, then
      }
      for (const Branch& branch : paths.branches_to(block)) {
        const clang::Expr* condition = condition_of(branch.block);
        if (paths.is_loop(branch.block)) continue;
        if (condition == nullptr || may_change(condition, changing)) return;  // once, for all that is known
      }
      Diagnostic* finding = findings_.add(
          uneven_steps, argument_of(signal, row.step)->getSourceRange(),
          "the loop signals the same step of the same flag each time, so that a wait for a later one is over at "
          "once; steps count up within a launch");
      findings_.note(finding, clang::SourceRange(outer->getBeginLoc()), "in this loop");
      return;
    }
  }

  /// Variables that a loop declares or changes.
  static void collect_changing(const clang::Stmt* statement, std::set<const clang::VarDecl*>& changing) {
    if (statement == nullptr) return;
    if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
      for (const clang::Decl* one : declaration->decls()) {
        const auto* variable = llvm::dyn_cast<clang::VarDecl>(one);
        if (variable != nullptr && !variable->getType().isConstQualified()) changing.insert(variable);
      }
    }
    const clang::Expr* target = nullptr;
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement)) {
      if (binary->isAssignmentOp()) target = binary->getLHS();
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp() || unary->getOpcode() == clang::UO_AddrOf) target = unary->getSubExpr();
    }
    if (target != nullptr && variable_of(target) != nullptr) changing.insert(variable_of(target));
    for (const clang::Stmt* child : statement->children()) collect_changing(child, changing);
  }

  bool may_change(const clang::Stmt* expression, const std::set<const clang::VarDecl*>& changing) const {
    if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression)) {
      if (llvm::isa<clang::BindingDecl>(reference->getDecl())) return true;
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
      if (variable == nullptr) return false;
      if (changing.contains(variable)) return true;
      const bool follows =
          variable->hasLocalStorage() && variable->getInit() != nullptr && !symbols_.is_modified(variable);
      return follows && may_change(variable->getInit(), changing);
    }
    if (const clang::FunctionDecl* callee = callee_of(expression)) {
      const Function* row = find_function(callee);
      const bool reads_memory = row != nullptr && (row->atomic || row->loads != no_argument || row->outcome);
      const bool may_write = !callee->isConstexpr() && row == nullptr && !is_vocabulary(callee);
      if (reads_memory || may_write || callee->getName() == "count_barrier") return true;
    }
    if (llvm::isa<clang::ArraySubscriptExpr>(expression)) return true;
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression);
    if (unary != nullptr && (unary->getOpcode() == clang::UO_Deref || unary->isIncrementDecrementOp())) return true;
    return std::ranges::any_of(expression->children(), [&](const clang::Stmt* child) {
      return child != nullptr && may_change(child, changing);
    });
  }

  /// Two signals, one behind the other, of the same step.
  void check_pair(const Unit& unit, const Place& first, const Place& second) {
    if (first.statement == second.statement || !comes_before(unit, first, second)) return;
    if (may_exclude_each_other(unit, first, second)) return;
    const Function& one = *find_function(callee_of(first.statement));
    const Function& other = *find_function(callee_of(second.statement));
    if ((one.peer == no_argument) != (other.peer == no_argument)) return;
    for (const auto& [index, index_of_other] : {std::pair(one.flag, other.flag), std::pair(one.peer, other.peer)}) {
      if (index != no_argument &&
          !are_equal(argument_of(first.statement, index), argument_of(second.statement, index_of_other)))
        return;
    }
    const Sums step = symbols_.of(argument_of(first.statement, one.step));
    const Sums next = symbols_.of(argument_of(second.statement, other.step));
    const bool constant =
        step.size() == 1 && next.size() == 1 && step.begin()->is_constant() && next.begin()->is_constant();
    if (!constant || next.begin()->constant > step.begin()->constant) return;
    Diagnostic* finding =
        findings_.add(uneven_steps, argument_of(second.statement, other.step)->getSourceRange(),
                      "this signal is of no later step than the one before it, so that a wait for it is over "
                      "before it comes; steps count up within a launch");
    findings_.note(finding, argument_of(first.statement, one.step)->getSourceRange(), "the signal before it");
  }

  bool comes_before(const Unit& unit, const Place& first, const Place& second) const {
    const Paths& paths = model_.paths.at(&unit);
    if (first.block != second.block)
      return paths.leads(first.block, second.block) && !paths.leads(second.block, first.block);
    for (const clang::CFGElement& element : *first.block) {
      const auto held = element.getAs<clang::CFGStmt>();
      if (held && held->getStmt() == first.statement) return true;
      if (held && held->getStmt() == second.statement) return false;
    }
    return false;
  }

  /// Each depends on a condition that the other does not depend on.
  bool may_exclude_each_other(const Unit& unit, const Place& first, const Place& second) const {
    const Paths& paths = model_.paths.at(&unit);
    const auto has_its_own = [&](const Place& one, const Place& other) {
      const auto others = paths.branches_to(other.block);
      return std::ranges::any_of(paths.branches_to(one.block), [&](const Branch& branch) {
        return std::ranges::find(others, branch) == others.end();
      });
    };
    return has_its_own(first, second) && has_its_own(second, first);
  }

  /// Known, one value, and nothing in it that a loop changes in between.
  bool are_equal(const clang::Expr* left, const clang::Expr* right) const {
    const Sums one = symbols_.of(left);
    if (one.size() != 1 || one != symbols_.of(right)) return false;
    return std::ranges::none_of(one.begin()->terms,
                                [](const auto& term) { return term.first.find("loop(") != std::string::npos; });
  }

  const Model& model_;
  Findings& findings_;
  Symbols symbols_;
  const clang::ASTContext& ast_;
};

}  // namespace

void check_uneven_steps(const Model& model, Findings& findings) {
  UnevenSteps steps(model, findings);
  for (const auto& unit : model.program.units()) steps.check(*unit);
}

}  // namespace iris::clang_library::lint
