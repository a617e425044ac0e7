#include "runtime/jit/clang/lint/rules.hpp"
#include "runtime/jit/clang/lint/tally.hpp"

namespace iris::clang_library::lint {
namespace {

class DivergentBarriers {
 public:
  DivergentBarriers(const Model& model, Findings& findings) : model_(model), findings_(findings) {}

  void check(const Unit& unit) {
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      if (const Meeting meeting = meeting_of(statement); meeting.call != nullptr)
        check_threads(unit, block, statement, meeting);
      if (counts(statement).most > 0 || counts(statement).open) check_ranks(unit, block, statement);
    });
  }

 private:
  /// What a block's threads have to come to together, by a call: the function, and where it is called.
  struct Meeting {
    const Function* row = nullptr;
    const clang::Expr* call = nullptr;
  };

  Meeting meeting_of(const clang::Stmt* statement) {
    const clang::FunctionDecl* callee = callee_of(statement);
    if (const Function* row = find_function(callee)) {
      return is_of_whole_block(row->effect) ? Meeting{row, llvm::cast<clang::Expr>(statement)} : Meeting{};
    }
    const Unit* called = model_.program.find(callee);
    if (called == nullptr) return {};
    const auto [place, is_new] = meetings_.try_emplace(called);
    if (!is_new) return place->second;
    Meeting first;
    for_each_statement(*called, [&](const clang::CFGBlock*, const clang::Stmt* inner) {
      if (first.call == nullptr) first = meeting_of(inner);
    });
    return meetings_[called] = first;
  }

  void check_threads(const Unit& unit, const clang::CFGBlock* block, const clang::Stmt* statement,
                     const Meeting& meeting) {
    const std::string name = std::string(meeting.row->name);
    for (const CallSite& site : model_.program.takers(unit)) {
      const Function* row = find_function(callee_of(site.call));
      if (row == nullptr || !row->iterates) continue;
      Diagnostic* finding =
          findings_.add(divergent_barrier, statement->getSourceRange(),
                        "all threads of the block have to call " + name + "() together, but " + std::string(row->name) +
                            "() calls this differently often in each of them");
      findings_.note(finding, site.call->getSourceRange(), "called by this");
      return;
    }
    for (const Branch& branch : model_.paths.at(&unit).branches_to(block)) {
      if ((model_.differences.of(branch) & threads) == 0) continue;
      Diagnostic* finding =
          findings_.add(divergent_barrier, statement->getSourceRange(),
                        "all threads of the block have to call " + name + "() together, but not all of them come here");
      note(finding, statement, meeting);
      findings_.note(finding, condition_of(branch.block)->getSourceRange(), "this differs among threads");
      return;
    }
  }

  void check_ranks(const Unit& unit, const clang::CFGBlock* block, const clang::Stmt* statement) {
    const Paths& paths = model_.paths.at(&unit);
    const Weigh weigh = [&](const clang::CFGBlock* one) { return weight(one); };
    for (const Branch& branch : paths.branches_to(block)) {
      if ((model_.differences.of(branch) & ranks) == 0 || may_be_even(paths, branch.block, weigh)) continue;
      Diagnostic* finding = findings_.add(
          divergent_barrier, statement->getSourceRange(),
          "all ranks have to pass the same barriers, but not all of them come here, nor to another one instead");
      note(finding, statement, meeting_of(statement));
      findings_.note(finding, condition_of(branch.block)->getSourceRange(), "this differs among ranks");
      return;
    }
  }

  void note(Diagnostic* finding, const clang::Stmt* statement, const Meeting& meeting) {
    if (meeting.call != nullptr && meeting.call != statement) {
      findings_.note(finding, meeting.call->getSourceRange(), "which is called here");
    }
  }

  /// The barriers among ranks of a statement.
  Tally counts(const clang::Stmt* statement) {
    const clang::FunctionDecl* callee = callee_of(statement);
    if (const Function* row = find_function(callee)) {
      return row->effect == Effect::barrier ? Tally{1, 1, false} : Tally{};
    }
    const Unit* called = model_.program.find(callee);
    if (called == nullptr) return {};
    const auto [place, is_new] = tallies_.try_emplace(called);
    if (!is_new) return place->second;
    Tally whole = tally(model_.paths.at(called), &called->cfg->getEntry(), &called->cfg->getExit(),
                        [&](const clang::CFGBlock* block) { return weight(block); });
    if (whole.least != whole.most) whole.open = true;
    return tallies_[called] = whole;
  }

  Tally weight(const clang::CFGBlock* block) {
    Tally sum;
    for (const clang::CFGElement& element : *block) {
      const auto held = element.getAs<clang::CFGStmt>();
      if (!held) continue;
      const Tally one = counts(held->getStmt());
      sum = {sum.least + one.least, sum.most + one.most, sum.open || one.open};
    }
    return sum;
  }

  const Model& model_;
  Findings& findings_;
  std::map<const Unit*, Meeting> meetings_;
  std::map<const Unit*, Tally> tallies_;
};

}  // namespace

void check_divergent_barrier(const Model& model, Findings& findings) {
  DivergentBarriers barriers(model, findings);
  for (const auto& unit : model.program.units()) barriers.check(*unit);
}

}  // namespace iris::clang_library::lint
