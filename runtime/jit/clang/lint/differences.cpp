#include "runtime/jit/clang/lint/differences.hpp"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace iris::clang_library::lint {
namespace {

/// Of `a.b[i].c` or `*p` what is written to: a variable, or a member of the user's structs.
const clang::ValueDecl* target_of(const clang::Expr* expression) {
  const clang::Expr* inner = stripped(expression);
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(inner)) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    return field != nullptr && !is_vocabulary(field) ? field : target_of(member->getBase());
  }
  if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(inner)) return target_of(element->getBase());
  if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(inner)) {
    return call->getNumArgs() > 0 ? target_of(call->getArg(0)) : nullptr;
  }
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
  return reference == nullptr ? nullptr : reference->getDecl();
}

}  // namespace

Differences::Differences(const Program& program, const std::map<const Unit*, Paths>& paths)
    : program_(program), paths_(paths) {
  for (const auto& unit : program.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
      const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
      if (declaration == nullptr) return;
      for (const clang::Decl* one : declaration->decls()) {
        if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(one)) declared_[variable] = {unit.get(), block};
      }
    });
  }
  do {
    changed_ = false;
    for (const auto& unit : program.units()) {
      learn_parameters(*unit);
      learn_initializers(*unit);
      for_each_statement(
          *unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) { learn(*unit, block, statement); });
    }
  } while (changed_);
}

unsigned Differences::of(const Branch& branch) const {
  const clang::Expr* condition = condition_of(branch.block);
  return condition == nullptr ? unsigned{nobody} : of(condition);
}

unsigned Differences::of(const clang::Expr* expression) const {
  const clang::Expr* inner = stripped(expression);
  const auto known = [&](const void* what) {
    const auto found = known_.find(what);
    return found == known_.end() ? unsigned{nobody} : found->second;
  };
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner)) {
    if (const auto* binding = llvm::dyn_cast<clang::BindingDecl>(reference->getDecl())) {
      return known(binding->getDecomposedDecl());
    }
    return known(reference->getDecl());
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(inner)) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr) return nobody;
    const unsigned difference = difference_of(field);
    if ((difference & from_arguments) == 0) return difference;
    return is_vocabulary(field) ? of(member->getBase()) : known(field);
  }
  if (llvm::isa<clang::LambdaExpr, clang::CXXThisExpr, clang::UnaryExprOrTypeTraitExpr>(inner)) return nobody;
  if (callee_of(inner) != nullptr) return of_call(inner);
  return of_children(inner);
}

unsigned Differences::of_call(const clang::Expr* call) const {
  const clang::FunctionDecl* callee = callee_of(call);
  const Function* row = find_function(callee);
  if (row != nullptr && (row->differs & from_arguments) == 0) return row->differs;
  if (const Unit* unit = program_.find(callee)) {
    const auto found = known_.find(unit);
    if (!llvm::isa<clang::CXXConstructorDecl>(callee)) return found == known_.end() ? unsigned{nobody} : found->second;
  }
  return (row == nullptr ? unsigned{nobody} : row->differs & ~unsigned{from_arguments}) | of_children(call);
}

unsigned Differences::of_children(const clang::Stmt* statement) const {
  unsigned all = nobody;
  for (const clang::Stmt* child : statement->children()) {
    const auto* expression = llvm::dyn_cast_or_null<clang::Expr>(child);
    if (expression != nullptr && !expression->getType()->isFunctionType()) all |= of(expression);
  }
  return all;
}

unsigned Differences::of_branches(const Unit& unit, const clang::CFGBlock* block,
                                  const clang::ValueDecl* assigned) const {
  const Paths& paths = paths_.at(&unit);
  std::vector<Branch> around;
  const auto declared = declared_.find(assigned);
  if (declared != declared_.end() && declared->second.first == &unit) {
    around = paths.branches_to(declared->second.second);  // all who are there have taken these
  }
  unsigned all = nobody;
  for (const Branch& branch : paths.branches_to(block)) {
    if (std::ranges::find(around, branch) == around.end()) all |= of(branch);
  }
  if (declared == declared_.end() || declared->second.first != &unit) {
    for (const CallSite& site : program_.takers(unit)) {
      const Function* row = find_function(callee_of(site.call));
      if (row != nullptr && row->iterates) all |= threads;
    }
  }
  return all;
}

void Differences::learn(const Unit& unit, const clang::CFGBlock* block, const clang::Stmt* statement) {
  if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* one : declaration->decls()) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(one);
      if (variable != nullptr && variable->getInit() != nullptr) add(variable, of(variable->getInit()));
    }
  } else if (const auto* assigned = llvm::dyn_cast<clang::BinaryOperator>(statement)) {
    if (assigned->isAssignmentOp()) assign(unit, block, assigned->getLHS(), of(assigned->getRHS()));
  } else if (const auto* counted = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
    if (counted->isIncrementDecrementOp()) assign(unit, block, counted->getSubExpr(), nobody);
  } else if (const auto* result = llvm::dyn_cast<clang::ReturnStmt>(statement)) {
    if (result->getRetValue() != nullptr) add(&unit, of(result->getRetValue()));
  } else if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(statement)) {
    const auto* record = list->getType()->getAsCXXRecordDecl();
    if (record == nullptr || is_vocabulary(record)) return;
    auto field = record->field_begin();
    for (unsigned i = 0; i < list->getNumInits() && field != record->field_end(); ++i, ++field) {
      if (list->getInit(i)->getType()->getAsCXXRecordDecl() != record) add(*field, of(list->getInit(i)));
    }
  } else if (callee_of(statement) != nullptr) {
    learn_call(statement);
  }
}

void Differences::learn_call(const clang::Stmt* call) {
  const Unit* unit = program_.find(callee_of(call));
  if (unit == nullptr) return;
  const auto arguments = arguments_of(call);
  const std::size_t count = std::min<std::size_t>(arguments.size(), unit->function->getNumParams());
  for (std::size_t i = 0; i < count; ++i) {
    add(unit->function->getParamDecl(static_cast<unsigned>(i)), of(arguments[i]));
  }
}

void Differences::learn_parameters(const Unit& unit) {
  for (const CallSite& site : program_.takers(unit)) {
    unsigned all = threads;
    for (const clang::Expr* argument : arguments_of(site.call)) all |= of(argument);
    for (const clang::ParmVarDecl* parameter : unit.function->parameters()) add(parameter, all);
  }
}

void Differences::learn_initializers(const Unit& unit) {
  const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(unit.function);
  if (constructor == nullptr) return;
  for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
    if (initializer->isMemberInitializer()) add(initializer->getMember(), of(initializer->getInit()));
  }
}

void Differences::assign(const Unit& unit, const clang::CFGBlock* block, const clang::Expr* target,
                         unsigned difference) {
  const clang::ValueDecl* written = target_of(target);
  if (written != nullptr) add(written, difference | of_branches(unit, block, written));
}

void Differences::add(const void* what, unsigned difference) {
  difference &= ~unsigned{from_arguments};
  unsigned& known = known_[what];
  if ((known | difference) == known) return;
  known |= difference;
  changed_ = true;
}

std::string words_of(unsigned difference) {
  std::string words;
  const auto add = [&](unsigned one, const char* word) {
    if ((difference & one) != 0) words += (words.empty() ? "" : " and ") + std::string(word);
  };
  add(threads, "threads");
  add(blocks, "blocks");
  add(ranks, "ranks");
  return words;
}

}  // namespace iris::clang_library::lint
