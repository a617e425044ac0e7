#include "runtime/jit/clang/lint/chosen.hpp"

#include <algorithm>
#include <cstdlib>

namespace iris::clang_library::lint {
namespace {

constexpr int max_names = 8;  // that a condition is given; `const bool a = !a;` has no end

/// What compares a quantity, which stands on the left, with a number.
struct Comparison {
  clang::BinaryOperatorKind by;
  Sum number;
};

std::optional<Comparison> comparison_of(const clang::Expr* condition, const std::string& quantity,
                                        const Symbols& symbols) {
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition);
  if (binary == nullptr || !binary->isComparisonOp()) return std::nullopt;
  const Sums left = symbols.of(binary->getLHS());
  const Sums right = symbols.of(binary->getRHS());
  if (left.size() != 1 || right.size() != 1) return std::nullopt;
  Sum difference = left.begin()->plus(*right.begin(), -1);
  const auto found = difference.terms.find(quantity);
  if (found == difference.terms.end() || std::abs(found->second) != 1) return std::nullopt;
  const std::int64_t sign = found->second;  // of `quantity - number`, or of `number - quantity`
  difference.terms.erase(found);
  const bool is_same_for_all = std::ranges::all_of(
      difference.terms, [](const auto& term) { return term.first == "world" || term.first.starts_with("param("); });
  const Sum number = Sum{}.plus(difference, -sign);
  if (!is_same_for_all || (number.is_constant() && number.constant < 0)) return std::nullopt;
  const clang::BinaryOperatorKind by = binary->getOpcode();
  return Comparison{.by = sign < 0 ? clang::BinaryOperator::reverseComparisonOp(by) : by, .number = number};
}

}  // namespace

std::optional<Chosen> chosen_by(const Branch& branch, const std::string& quantity, const Symbols& symbols) {
  const clang::Expr* condition = condition_of(branch.block);
  if (condition == nullptr || branch.block->succ_size() != 2) return std::nullopt;
  bool holds = branch.successor == 0;
  for (int names = 0; names < max_names;) {
    condition = stripped(condition);
    const auto* negation = llvm::dyn_cast<clang::UnaryOperator>(condition);
    const clang::VarDecl* variable = variable_of(condition);
    if (negation != nullptr && negation->getOpcode() == clang::UO_LNot) {
      holds = !holds;
      condition = negation->getSubExpr();
    } else if (variable != nullptr && variable->getInit() != nullptr && !llvm::isa<clang::ParmVarDecl>(variable) &&
               !symbols.is_modified(variable)) {
      condition = variable->getInit();
      ++names;
    } else {
      break;
    }
  }
  const std::optional<Comparison> comparison = comparison_of(condition, quantity, symbols);
  if (!comparison) return std::nullopt;
  const auto& [by, number] = *comparison;
  const bool equal = by == clang::BO_EQ;
  if (equal || by == clang::BO_NE) return Chosen{.number = number, .only = holds == equal};
  // Of orders, those that part the first from the others.
  const bool is_first = number == Sum{.constant = by == clang::BO_LT || by == clang::BO_GE ? 1 : 0};
  if (!is_first) return std::nullopt;
  const bool below = by == clang::BO_LT || by == clang::BO_LE;
  return Chosen{.number = {}, .only = holds == below};
}

}  // namespace iris::clang_library::lint
