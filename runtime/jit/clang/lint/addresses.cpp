#include "runtime/jit/clang/lint/addresses.hpp"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace iris::clang_library::lint {
namespace {

bool is_null(const clang::Expr* expression) {
  const clang::Expr* inner = stripped(expression);
  return llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(inner);
}

const clang::FieldDecl* field_of(const clang::Expr* expression) {
  const auto* member = llvm::dyn_cast<clang::MemberExpr>(stripped(expression));
  return member == nullptr ? nullptr : llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
}

bool is_vocabulary_field(const clang::Expr* expression, llvm::StringRef record, llvm::StringRef name) {
  const clang::FieldDecl* field = field_of(expression);
  return field != nullptr && is_vocabulary(field) && field->getName() == name &&
         field->getParent()->getName() == record;
}

bool is_context_field(const clang::Expr* expression, llvm::StringRef name) {
  return is_vocabulary_field(expression, "Context", name);
}

/// A variable, or an array of them, whose element is written by `array[i] = …`.
const clang::ValueDecl* written_variable(const clang::Expr* target) {
  const clang::Expr* inner = stripped(target);
  if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(inner)) {
    const clang::VarDecl* array = variable_of(element->getBase());
    return array != nullptr && array->getType()->isArrayType() ? array : nullptr;
  }
  return variable_of(inner);
}

/// `p = p + 1` says nothing new of p.
bool mentions(const clang::Stmt* expression, const clang::ValueDecl* variable) {
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression);
  if (reference != nullptr && reference->getDecl() == variable) return true;
  return std::ranges::any_of(expression->children(),
                             [&](const clang::Stmt* child) { return child != nullptr && mentions(child, variable); });
}

}  // namespace

Addresses::Addresses(const Program& program) : program_(program) {
  for (bool changed = true; changed;) {
    std::map<const clang::ValueDecl*, std::vector<Places>> written;
    for (const auto& unit : program.units()) {
      for_each_statement(*unit,
                         [&](const clang::CFGBlock*, const clang::Stmt* statement) { learn(statement, written); });
    }
    changed = learn_calls();
    for (const auto& [variable, all] : written) {
      if (llvm::isa<clang::ParmVarDecl>(variable)) continue;
      Places common = all.front();
      for (const Places& one : all) std::erase_if(common, [&](Memory memory) { return !one.contains(memory); });
      const std::size_t before = variables_[variable].size();
      variables_[variable].merge(std::move(common));
      changed = changed || variables_[variable].size() != before;
    }
  }
}

bool Addresses::leads_to(const clang::Expr* pointer, Memory memory) const {
  return of(pointer).contains(memory);
}

Addresses::Places Addresses::of(const clang::Expr* expression) const {
  const clang::Expr* inner = stripped(expression);
  const auto joined = [&](const clang::Expr* left, const clang::Expr* right) {
    Places places = of(left);
    places.merge(of(right));
    return places;
  };
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner)) {
    const auto found = variables_.find(reference->getDecl());
    return found == variables_.end() ? Places{} : found->second;
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner)) {
    if (binary->isAdditiveOp() || binary->getOpcode() == clang::BO_AddAssign)
      return joined(binary->getLHS(), binary->getRHS());
    if (binary->getOpcode() == clang::BO_Assign || binary->isCommaOp()) return of(binary->getRHS());
    return {};
  }
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(inner)) {
    return joined(choice->getTrueExpr(), choice->getFalseExpr());
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner)) {
    if (unary->isIncrementDecrementOp()) return of(unary->getSubExpr());
    if (unary->getOpcode() != clang::UO_AddrOf) return {};
    const clang::Expr* object = stripped(unary->getSubExpr());
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(object)) return of(element->getBase());
    const auto* behind = llvm::dyn_cast<clang::UnaryOperator>(object);
    return behind != nullptr && behind->getOpcode() == clang::UO_Deref ? of(behind->getSubExpr()) : Places{};
  }
  if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(inner)) {
    const auto* window = llvm::dyn_cast<clang::ArraySubscriptExpr>(stripped(element->getBase()));
    if (window != nullptr && is_context_field(window->getBase(), "bases")) {
      return is_context_field(element->getIdx(), "rank") ? Places{} : Places{Memory::remote};
    }
    if (is_vocabulary_field(element->getBase(), "OnPeers", "objects")) return of_peer(element->getIdx());
    const clang::VarDecl* array = variable_of(element->getBase());
    return array != nullptr && array->getType()->isArrayType() ? of(element->getBase()) : Places{};
  }
  if (is_context_field(inner, "workspace")) return {Memory::workspace};
  return callee_of(inner) == nullptr ? Places{} : of_call(inner);
}

Addresses::Places Addresses::of_call(const clang::Expr* call) const {
  const clang::FunctionDecl* callee = callee_of(call);
  if (const Function* row = find_function(callee)) {
    if (row->result == Memory::unknown) return {};
    const auto arguments = arguments_of(call);
    const auto argument = [&](int index) { return arguments.at(static_cast<std::size_t>(index)); };
    if (row->offset != no_argument) return of_peer(argument(row->offset));
    Places places = {row->result};
    if (row->object != no_argument && leads_to(argument(row->object), Memory::workspace))
      places.insert(Memory::peer_workspace);
    return places;
  }
  const Unit* unit = program_.find(callee);
  const auto found = results_.find(unit);
  return unit == nullptr || found == results_.end() ? Places{} : found->second;
}

Addresses::Places Addresses::of_peer(const clang::Expr* offset) const {
  clang::Expr::EvalResult value;
  const bool this_rank = offset->EvaluateAsInt(value, program_.ast()) && value.Val.getInt() == 0;
  return this_rank ? Places{} : Places{Memory::remote};
}

void Addresses::learn(const clang::Stmt* statement,
                      std::map<const clang::ValueDecl*, std::vector<Places>>& written) const {
  const auto write = [&](const clang::ValueDecl* variable, const clang::Expr* value) {
    if (variable == nullptr || value == nullptr || is_null(value) || mentions(value, variable)) return;
    written[variable].push_back(of(value));
  };
  if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* one : declaration->decls()) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(one);
      if (variable == nullptr || variable->getInit() == nullptr) continue;
      const auto* list = llvm::dyn_cast<clang::InitListExpr>(variable->getInit()->IgnoreImplicit());
      if (list == nullptr || !variable->getType()->isArrayType()) {
        if (variable->getType()->isPointerType()) write(variable, variable->getInit());
        continue;
      }
      for (const clang::Expr* element : list->inits()) {
        if (!llvm::isa<clang::ImplicitValueInitExpr>(element)) write(variable, element);
      }
    }
  } else if (const auto* assigned = llvm::dyn_cast<clang::BinaryOperator>(statement)) {
    if (assigned->getOpcode() == clang::BO_Assign) write(written_variable(assigned->getLHS()), assigned->getRHS());
  }
}

bool Addresses::learn_calls() {
  bool changed = false;
  const auto add = [&](Places& known, Places more) {
    const std::size_t before = known.size();
    known.merge(std::move(more));
    changed = changed || known.size() != before;
  };
  std::map<const clang::ValueDecl*, std::vector<Places>> passed;
  for (const auto& unit : program_.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      if (const auto* result = llvm::dyn_cast<clang::ReturnStmt>(statement)) {
        if (result->getRetValue() != nullptr) add(results_[unit.get()], of(result->getRetValue()));
      }
      const Unit* called = program_.find(callee_of(statement));
      if (called == nullptr) return;
      const auto arguments = arguments_of(statement);
      const std::size_t count = std::min<std::size_t>(arguments.size(), called->function->getNumParams());
      for (std::size_t i = 0; i < count; ++i) {
        passed[called->function->getParamDecl(static_cast<unsigned>(i))].push_back(of(arguments[i]));
      }
    });
  }
  for (const auto& [parameter, all] : passed) {
    const auto leads = [](Memory memory) { return [memory](const Places& one) { return one.contains(memory); }; };
    if (std::ranges::any_of(all, leads(Memory::remote))) add(variables_[parameter], {Memory::remote});
    for (const Memory memory : {Memory::workspace, Memory::peer_workspace}) {
      if (std::ranges::all_of(all, leads(memory))) add(variables_[parameter], {memory});
    }
  }
  return changed;
}

}  // namespace iris::clang_library::lint
