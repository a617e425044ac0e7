#include "runtime/jit/clang/lint/symbols.hpp"

#include <clang/AST/StmtCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include <algorithm>

namespace iris::clang_library::lint {
namespace {

constexpr int max_depth = 32;
constexpr std::size_t max_alternatives = 4;

Sum quantity(std::string name) {
  return {.terms = {{std::move(name), 1}}};
}

/// One alternative of each, combined; nothing if there are too many.
template <typename Combine>
Sums combined(const Sums& left, const Sums& right, const Combine& combine) {
  Sums all;
  if (left.size() * right.size() > max_alternatives) return {};
  for (const Sum& one : left) {
    for (const Sum& other : right) {
      const std::optional<Sum> both = combine(one, other);
      if (!both) return {};
      all.insert(*both);
    }
  }
  return all;
}

/// Large numbers are no flags and no steps, and must not overflow.
bool is_small(const Sum& sum) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  const auto small = [](std::int64_t value) { return value < limit && value > -limit; };
  return small(sum.constant) && std::ranges::all_of(sum.terms, [&](const auto& term) { return small(term.second); });
}

/// `e` of a function that does nothing but `return e;`.
const clang::Expr* only_result(const clang::FunctionDecl* function) {
  const clang::FunctionDecl* definition = function->getDefinition();
  if (definition == nullptr || definition->isDependentContext()) return nullptr;
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(definition->getBody());
  if (body == nullptr || body->size() != 1) return nullptr;
  const auto* result = llvm::dyn_cast<clang::ReturnStmt>(body->body_front());
  return result == nullptr ? nullptr : result->getRetValue();
}

}  // namespace

std::string Sum::only_term() const {
  return constant == 0 && terms.size() == 1 && terms.begin()->second == 1 ? terms.begin()->first : std::string();
}

Sum Sum::plus(const Sum& other, std::int64_t factor) const {
  Sum sum = *this;
  sum.constant += factor * other.constant;
  for (const auto& [name, count] : other.terms) {
    std::int64_t& total = sum.terms[name];
    total += factor * count;
    if (total == 0) sum.terms.erase(name);
  }
  return sum;
}

Sum Sum::with(const std::string& term, const Sum& value) const {
  const auto found = terms.find(term);
  if (found == terms.end()) return *this;
  Sum rest = *this;
  const std::int64_t count = found->second;
  rest.terms.erase(term);
  return rest.plus(value, count);
}

std::string Sum::key() const {
  std::string text = std::to_string(constant);
  for (const auto& [name, count] : terms) text.append("+").append(std::to_string(count)).append(name);
  return text;
}

Symbols::Symbols(const Program& program) : program_(program) {
  using namespace clang::ast_matchers;  // NOLINT(google-build-using-namespace): so that matchers read as they are meant
  for (const auto& unit : program.units()) {
    for_each_statement(*unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      const clang::Expr* target = nullptr;
      if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement)) {
        if (binary->isAssignmentOp()) target = binary->getLHS();
      } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
        if (unary->isIncrementDecrementOp() || unary->getOpcode() == clang::UO_AddrOf) target = unary->getSubExpr();
      }
      if (target != nullptr && variable_of(target) != nullptr) modified_.insert(variable_of(target));
    });
  }
  const auto loop = forStmt(hasLoopInit(declStmt(hasSingleDecl(varDecl().bind("variable"))))).bind("loop");
  for (const auto& found : match(loop, program.ast())) {
    loops_[found.getNodeAs<clang::VarDecl>("variable")] = found.getNodeAs<clang::ForStmt>("loop");
  }
}

Sums Symbols::evaluate(const clang::Expr* expression, const Values& values, int depth) const {
  if (depth > max_depth || !expression->getType().getNonReferenceType()->isIntegralOrEnumerationType()) return {};
  clang::Expr::EvalResult constant;
  if (!expression->isValueDependent() && expression->EvaluateAsInt(constant, program_.ast()) &&
      constant.Val.getInt().isRepresentableByInt64()) {
    const Sum sum = {.constant = constant.Val.getInt().getExtValue()};
    return is_small(sum) ? Sums{sum} : Sums{};
  }
  const clang::Expr* inner = stripped(expression);
  if (const clang::VarDecl* variable = variable_of(inner)) return evaluate_variable(variable, values, depth + 1);
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner))
    return evaluate_binary(binary, values, depth + 1);
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(inner)) {
    Sums left = evaluate(choice->getTrueExpr(), values, depth + 1);
    Sums right = evaluate(choice->getFalseExpr(), values, depth + 1);
    if (left.empty() || right.empty()) return {};
    left.merge(right);
    return left.size() > max_alternatives ? Sums{} : left;
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(inner)) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr || !is_vocabulary(field) || field->getParent()->getName() != "Context") return {};
    return field->getName() == "rank" || field->getName() == "world" ? Sums{quantity(field->getName().str())} : Sums{};
  }
  return callee_of(inner) == nullptr ? Sums{} : evaluate_call(inner, values, depth + 1);
}

Sums Symbols::evaluate_variable(const clang::VarDecl* variable, const Values& values, int depth) const {
  if (const auto found = values.find(variable); found != values.end()) return found->second;
  if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(variable)) {
    return is_modified(variable) ? Sums{} : evaluate_parameter(parameter, depth);
  }
  if (const auto loop = loops_.find(variable); loop != loops_.end())
    return evaluate_loop(variable, loop->second, depth);
  if (is_modified(variable) || variable->getInit() == nullptr) return {};
  Sums known = evaluate(variable->getInit(), values, depth);
  if (!known.empty()) return known;
  return {quantity("var(" + std::to_string(reinterpret_cast<std::uintptr_t>(variable)) + ")")};
}

Sums Symbols::evaluate_parameter(const clang::ParmVarDecl* parameter, int depth) const {
  const auto* function = llvm::dyn_cast<clang::FunctionDecl>(parameter->getDeclContext());
  const Unit* unit = program_.find(function);
  if (unit == nullptr) return {};
  if (program_.is_entry(*unit)) return {quantity("param(" + parameter->getNameAsString() + ")")};
  const auto& callers = program_.callers(*unit);
  if (callers.size() != 1 || !program_.takers(*unit).empty() || program_.is_called_by_vocabulary(*unit)) return {};
  const auto arguments = arguments_of(callers.front().call);
  const auto index = parameter->getFunctionScopeIndex();
  return index < arguments.size() ? evaluate(arguments[index], {}, depth) : Sums{};
}

/// Counted up by one from a number on: its name holds where it begins and ends, so that equal loops have equal names.
Sums Symbols::evaluate_loop(const clang::VarDecl* variable, const clang::ForStmt* loop, int depth) const {
  const auto* counted = llvm::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc());
  const auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  const bool up = counted != nullptr && counted->isIncrementOp() && variable_of(counted->getSubExpr()) == variable;
  if (!up || condition == nullptr || variable_of(condition->getLHS()) != variable || variable->getInit() == nullptr)
    return {};
  const Sums begin = evaluate(variable->getInit(), {}, depth);
  const Sums end = evaluate(condition->getRHS(), {}, depth);
  if (begin.size() != 1 || end.size() != 1) return {};
  return {quantity("loop(" + begin.begin()->key() + "," + condition->getOpcodeStr().str() + end.begin()->key() + ")")};
}

Sums Symbols::evaluate_binary(const clang::BinaryOperator* binary, const Values& values, int depth) const {
  const Sums left = evaluate(binary->getLHS(), values, depth);
  const Sums right = evaluate(binary->getRHS(), values, depth);
  return combined(left, right, [&](const Sum& a, const Sum& b) -> std::optional<Sum> {
    std::optional<Sum> result;
    if (binary->getOpcode() == clang::BO_Add) result = a.plus(b, 1);
    if (binary->getOpcode() == clang::BO_Sub) result = a.plus(b, -1);
    if (binary->getOpcode() == clang::BO_Mul && b.is_constant()) result = Sum{}.plus(a, b.constant);
    if (binary->getOpcode() == clang::BO_Mul && a.is_constant()) result = Sum{}.plus(b, a.constant);
    return result && is_small(*result) ? result : std::nullopt;
  });
}

Sums Symbols::evaluate_call(const clang::Expr* call, const Values& values, int depth) const {
  const clang::FunctionDecl* callee = callee_of(call);
  const auto arguments = arguments_of(call);
  const Function* row = find_function(callee);
  const std::string_view name = row == nullptr ? std::string_view() : row->name;
  if (name == "thread_index" || name == "block_index") return {quantity(name == "thread_index" ? "thread" : "block")};
  if (name == "peer_at" && arguments.size() == 2) {
    const Sums offset = evaluate(arguments[1], values, depth);
    return offset.size() == 1 ? Sums{quantity("peer(" + offset.begin()->key() + ")")} : Sums{};
  }
  const clang::Expr* result = row == nullptr ? only_result(callee) : nullptr;
  if (result == nullptr) return {};
  Values inner;
  const std::size_t count = std::min<std::size_t>(arguments.size(), callee->getNumParams());
  const clang::FunctionDecl* definition = callee->getDefinition();
  for (std::size_t i = 0; i < count; ++i) {
    inner[definition->getParamDecl(static_cast<unsigned>(i))] = evaluate(arguments[i], values, depth);
  }
  return evaluate(result, inner, depth);
}

}  // namespace iris::clang_library::lint
