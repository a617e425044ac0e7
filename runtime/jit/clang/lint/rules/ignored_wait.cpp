#include <clang/AST/StmtCXX.h>
#include <clang/Lex/Lexer.h>

#include "runtime/jit/clang/lint/accesses.hpp"
#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

class IgnoredWaits {
 public:
  IgnoredWaits(const Model& model, Findings& findings) : model_(model), findings_(findings) {
    for (const auto& unit : model.program.units()) {
      for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
        if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement)) used_.insert(reference->getDecl());
      });
    }
  }

  void check(const Unit& unit) {
    for_each_statement(unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      const Function* row = find_function(callee_of(statement));
      if (row == nullptr || !row->outcome) return;
      const auto* call = llvm::cast<clang::Expr>(statement);
      const clang::Stmt* holder = discarding_statement(unit, call);
      if (holder == nullptr) return;
      asked_.clear();
      if (!something_follows(unit, block, call)) return;
      Diagnostic* finding =
          findings_.add(ignored_wait, call->getSourceRange(),
                        "the outcome of " + short_name(*row) +
                            "() is ignored: after a time-out the kernel goes on with what has not come; leave "
                            "the kernel if it is false");
      offer_return(finding, unit, call, holder, *row);
    });
  }

 private:
  static std::string short_name(const Function& row) {
    return std::string(row.name.substr(row.name.find("::") == std::string_view::npos ? 0 : row.name.find("::") + 2));
  }

  /// The statement that does nothing with the call's result: itself, or the variable that nobody reads; nullptr: it is
  /// used, or thrown away by a cast to void, which says that it is meant.
  const clang::Stmt* discarding_statement(const Unit& unit, const clang::Expr* call) const {
    const clang::Stmt* inner = call;
    const clang::Stmt* outer = unit.parents->getParent(call);
    while (outer != nullptr && llvm::isa<clang::FullExpr, clang::ParenExpr, clang::ImplicitCastExpr>(outer)) {
      inner = outer;
      outer = unit.parents->getParent(outer);
    }
    if (outer == nullptr) return nullptr;
    if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(outer)) {
      const auto* variable =
          declaration->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl()) : nullptr;
      return variable != nullptr && !used_.contains(variable) ? declaration : nullptr;
    }
    if (const auto* comma = llvm::dyn_cast<clang::BinaryOperator>(outer)) {
      return comma->isCommaOp() && comma->getLHS() == inner ? comma : nullptr;
    }
    if (const auto* choice = llvm::dyn_cast<clang::IfStmt>(outer)) return choice->getCond() == inner ? nullptr : inner;
    if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(outer)) return loop->getCond() == inner ? nullptr : inner;
    if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(outer)) return loop->getCond() == inner ? nullptr : inner;
    if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(outer)) return loop->getCond() == inner ? nullptr : inner;
    return llvm::isa<clang::CompoundStmt, clang::SwitchCase, clang::LabelStmt, clang::CXXForRangeStmt>(outer) ? inner
                                                                                                              : nullptr;
  }

  /// Whether a thread that has come past `call` accesses memory or signals: to wait once more does no harm.
  bool something_follows(const Unit& unit, const clang::CFGBlock* block, const clang::Expr* call) {
    if (!asked_.insert({&unit, block}).second) return false;
    bool behind = false;
    for (const clang::CFGElement& element : *block) {
      const auto held = element.getAs<clang::CFGStmt>();
      if (!held) continue;
      if (behind && matters(unit, held->getStmt())) return true;
      behind = behind || held->getStmt() == call;
    }
    const Paths& paths = model_.paths.at(&unit);
    for (const clang::CFGBlock* later : paths.order()) {
      if (paths.leads(block, later) && block_matters(unit, later)) return true;
    }
    if (model_.program.is_called_by_vocabulary(unit) || !model_.program.takers(unit).empty()) return true;
    for (const CallSite& site : model_.program.callers(unit)) {
      if (something_follows(*site.unit, site.block, site.call)) return true;
    }
    return false;
  }

  bool block_matters(const Unit& unit, const clang::CFGBlock* block) {
    return std::ranges::any_of(*block, [&](const clang::CFGElement& element) {
      const auto held = element.getAs<clang::CFGStmt>();
      return held && matters(unit, held->getStmt());
    });
  }

  bool matters(const Unit& unit, const clang::Stmt* statement) {
    if (const auto access = plain_access(unit, statement)) return access->loads || access->stores;
    const clang::FunctionDecl* callee = callee_of(statement);
    if (const Function* row = find_function(callee)) {
      const bool publishes =
          row->effect == Effect::signal || row->effect == Effect::block_signal || row->effect == Effect::main_loop;
      return publishes || row->loads != no_argument || row->stores != no_argument || row->iterates;
    }
    const Unit* called = model_.program.find(callee);
    if (called == nullptr) return false;
    const auto [place, is_new] = matters_.try_emplace(called, false);
    if (!is_new) return place->second;
    const bool any =
        std::ranges::any_of(*called->cfg, [&](const clang::CFGBlock* block) { return block_matters(*called, block); });
    return matters_[called] = any;
  }

  /// Where all threads have the same outcome and nothing else is to be decided.
  void offer_return(Diagnostic* finding, const Unit& unit, const clang::Expr* call, const clang::Stmt* holder,
                    const Function& row) {
    const clang::QualType result = unit.function->getReturnType();
    const bool knows_how = result->isVoidType() || result->isBooleanType();
    const bool stands_alone = llvm::isa<clang::Expr>(holder) && !llvm::isa<clang::BinaryOperator>(holder);
    if (!is_of_whole_block(row.effect) || !knows_how || !stands_alone || !model_.program.takers(unit).empty()) return;
    const clang::SourceLocation end = clang::Lexer::getLocForEndOfToken(call->getEndLoc(), 0, model_.program.sources(),
                                                                        model_.program.ast().getLangOpts());
    findings_.insert(finding, call->getBeginLoc(), "if (!");
    findings_.insert(finding, end, result->isVoidType() ? ") return" : ") return false");
  }

  const Model& model_;
  Findings& findings_;
  std::set<const clang::ValueDecl*> used_;
  std::set<std::pair<const Unit*, const clang::CFGBlock*>> asked_;
  std::map<const Unit*, bool> matters_;
};

}  // namespace

void check_ignored_wait(const Model& model, Findings& findings) {
  IgnoredWaits waits(model, findings);
  for (const auto& unit : model.program.units()) waits.check(*unit);
}

}  // namespace iris::clang_library::lint
