#include "runtime/jit/clang/read/reach.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace iris::clang_library {
namespace {

using nlohmann::json;

/// A sum of products of numbers and extents: the extents of each product, sorted, and its number.
using Polynomial = std::map<std::vector<std::string>, long long>;

constexpr long long largest = 1LL << 40;

std::optional<Polynomial> add(Polynomial a, const Polynomial& b) {
  for (const auto& [names, factor] : b) {
    long long& sum = a[names];
    if (__builtin_add_overflow(sum, factor, &sum) || sum > largest) return std::nullopt;
  }
  return a;
}

std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [names, factor] : a) {
    for (const auto& [more, by] : b) {
      std::vector<std::string> all = names;
      all.insert(all.end(), more.begin(), more.end());
      std::ranges::sort(all);
      long long value = 0;
      if (all.size() > 4 || __builtin_mul_overflow(factor, by, &value) || value > largest) return std::nullopt;
      const auto sum = add(std::move(product), {{all, value}});
      if (!sum) return std::nullopt;
      product = *sum;
    }
  }
  return product;
}

std::optional<long long> constant_of(const Polynomial& polynomial) {
  if (polynomial.empty()) return 0;
  if (polynomial.size() > 1 || !polynomial.begin()->first.empty()) return std::nullopt;
  return polynomial.begin()->second;
}

bool is_named(const clang::FunctionDecl& function, llvm::StringRef name) {
  return function.getDeclName().isIdentifier() && function.getName() == name;
}

bool is_device_function(const clang::FunctionDecl& function, llvm::StringRef name) {
  return is_named(function, name) && function.getQualifiedNameAsString() == "iris::device::" + name.str();
}

/// Whether a function only ever reads its parameter.
class Modifications : public clang::DynamicRecursiveASTVisitor {
 public:
  Modifications(const clang::FunctionDecl& function, const clang::ParmVarDecl& parameter) : parameter_(parameter) {
    TraverseStmt(function.getBody());
  }
  bool none() const { return uses_ == reads_; }

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) override {
    uses_ += reference->getDecl() == &parameter_ ? 1 : 0;
    return true;
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) override {
    const auto* of = llvm::dyn_cast<clang::DeclRefExpr>(cast->getSubExpr()->IgnoreParens());
    reads_ += cast->getCastKind() == clang::CK_LValueToRValue && of != nullptr && of->getDecl() == &parameter_ ? 1 : 0;
    return true;
  }

 private:
  const clang::ParmVarDecl& parameter_;
  int uses_ = 0;
  int reads_ = 0;
};

/// The number of elements that an expression comes to, or is at most; nothing if it cannot be told.
class ElementCount {
 public:
  ElementCount(const clang::ASTContext& ast, const clang::FunctionDecl& entry, const std::vector<std::string>& extents)
      : ast_(ast), entry_(entry), extents_(extents) {}

  std::optional<Polynomial> of(const clang::Expr* expression, int depth = 0) const {
    expression = expression->IgnoreParenImpCasts();
    if (depth > 64 || ++steps_ > most_steps || expression->isValueDependent()) return std::nullopt;
    clang::Expr::EvalResult result;
    if (expression->EvaluateAsInt(result, ast_)) {
      const long long value = result.Val.getInt().getExtValue();
      return value >= 0 && value <= largest ? std::optional(Polynomial{{{}, value}}) : std::nullopt;
    }
    if (const auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(expression))
      return of(cast->getSubExpr(), depth + 1);
    if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expression)) return of_name(*named->getDecl(), depth);
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(expression)) return of_call(*call, depth);
    const auto* operation = llvm::dyn_cast<clang::BinaryOperator>(expression);
    if (operation == nullptr) return std::nullopt;
    const auto left = of(operation->getLHS(), depth + 1);
    const auto right = of(operation->getRHS(), depth + 1);
    if (!left || !right) return std::nullopt;
    if (operation->getOpcode() == clang::BO_Add) return add(*left, *right);
    if (operation->getOpcode() == clang::BO_Mul) return multiply(*left, *right);
    return std::nullopt;
  }

 private:
  std::optional<Polynomial> of_name(const clang::ValueDecl& decl, int depth) const {
    if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(&decl)) {
      const std::string name = parameter->getNameAsString();
      const bool is_extent = parameter->getDeclContext() == &entry_ &&
                             std::ranges::find(extents_, name) != extents_.end() &&
                             Modifications(entry_, *parameter).none();
      return is_extent ? std::optional(Polynomial{{{name}, 1}}) : std::nullopt;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl);
    if (variable == nullptr || !variable->getType().isConstQualified() || variable->getInit() == nullptr)
      return std::nullopt;
    return of(variable->getInit(), depth + 1);
  }

  /// round_up(x, by) is at most x + by - 1.
  std::optional<Polynomial> of_call(const clang::CallExpr& call, int depth) const {
    const clang::FunctionDecl* callee = call.getDirectCallee();
    if (callee == nullptr || !is_device_function(*callee, "round_up")) return std::nullopt;
    const auto value = of(call.getArg(0), depth + 1);
    const auto by = of(call.getArg(1), depth + 1);
    const auto number = by ? constant_of(*by) : std::nullopt;
    if (!value || !number || *number < 1) return std::nullopt;
    return add(*value, {{{}, *number - 1}});
  }

  static constexpr int most_steps = 10'000;

  const clang::ASTContext& ast_;
  const clang::FunctionDecl& entry_;
  const std::vector<std::string>& extents_;
  mutable int steps_ = 0;
};

/// The value of a static constant of a configuration.
std::optional<long long> number_of(const clang::CXXRecordDecl& config, llvm::StringRef name) {
  for (const clang::Decl* member : config.decls()) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(member);
    if (variable == nullptr || variable->getName() != name) continue;
    const clang::APValue* value = variable->evaluateValue();
    if (value != nullptr && value->isInt()) return value->getInt().getExtValue();
  }
  return std::nullopt;
}

/// Visits the entry and, once each, all functions that it can come to.
class Walk : public clang::DynamicRecursiveASTVisitor {
 public:
  Walk(const Parsed& parsed, const clang::FunctionDecl& entry, const std::vector<std::string>& extents,
       Problems& problems)
      : parsed_(parsed), problems_(problems), count_(parsed.ast(), entry, extents) {
    ShouldVisitImplicitCode = true;  // destructors
    reach(entry);
    while (!pending_.empty()) {
      const clang::FunctionDecl* next = pending_.back();
      pending_.pop_back();
      TraverseStmt(next->getBody());
      const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(next);
      if (constructor == nullptr) continue;
      for (const clang::CXXCtorInitializer* member : constructor->inits()) TraverseStmt(member->getInit());
    }
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) override {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl())) reach(*function);
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(member->getMemberDecl())) reach(*function);
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) override {
    const clang::CXXConstructorDecl* constructor = construction->getConstructor();
    reach(*constructor);
    if (const clang::CXXDestructorDecl* destructor = constructor->getParent()->getDestructor()) reach(*destructor);
    note_launch(*construction, *constructor->getParent());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr) return true;
    if (is_device_function(*callee, "flags")) note_flags(*call, *callee);
    if (is_device_function(*callee, "workspace")) note_workspace(*call, *callee);
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
    const bool is_users = !parsed_.sources().isInSystemHeader(parsed_.sources().getExpansionLoc(call->getBeginLoc()));
    if (method != nullptr && is_users && is_named(*method, "workspace") && method->getParent()->getName() == "Launch") {
      problems_.add(call->getExprLoc(),
                    "launch.workspace<T>() does not say how much; write workspace<T>(launch, count)");
    }
    return true;
  }

  json answer() const {
    json terms = json::array();
    for (const auto& [names, bytes] : workspace_) terms.push_back({{"bytes", bytes}, {"extents", names}});
    json result = {{"waits", waits_}, {"flags", flags_}, {"workspace", std::move(terms)}, {"launch", nullptr}};
    if (launch_) result["launch"] = *launch_;
    return result;
  }

 private:
  void reach(const clang::FunctionDecl& function) {
    const clang::FunctionDecl* definition = function.getDefinition();
    if (definition == nullptr || !definition->hasBody() || !seen_.insert(definition).second) return;
    // Who uses atomics may wait by them.
    const bool is_atomic = definition->getDeclName().isIdentifier() && definition->getName().starts_with("atomic_");
    waits_ = waits_ || is_device_function(*definition, "raise_fault") ||
             (is_atomic && is_device_function(*definition, definition->getName()));
    pending_.push_back(definition);
  }

  void note_flags(const clang::CallExpr& call, const clang::FunctionDecl& callee) {
    const long long count = callee.getTemplateSpecializationArgs()->get(0).getAsIntegral().getExtValue();
    if (flags_at_.isInvalid()) {
      flags_at_ = call.getExprLoc();
      flags_ = count;
    } else if (flags_at_ != call.getExprLoc()) {
      problems_.add(call.getExprLoc(), "flags are asked for at " + problems_.place_text(flags_at_) +
                                           " already; ask once, for all of them");
    } else if (flags_ != count) {
      problems_.add(call.getExprLoc(), "one place asks for flags in several numbers; ask once, for all of them");
    }
  }

  void note_workspace(const clang::CallExpr& call, const clang::FunctionDecl& callee) {
    if (workspace_at_.isValid() && workspace_at_ != call.getExprLoc()) {
      problems_.add(call.getExprLoc(), "a workspace is asked for at " + problems_.place_text(workspace_at_) +
                                           " already; ask once, for all of it");
      return;
    }
    const auto elements = count_.of(call.getArg(1));
    if (!elements) {
      problems_.add(
          call.getArg(1)->getExprLoc(),
          "cannot tell how many elements that is; write a sum of products of numbers and the entry's extents, "
          "in the entry itself or in a const of it");
      return;
    }
    const clang::QualType element = callee.getTemplateSpecializationArgs()->get(0).getAsType();
    const long long bytes = parsed_.ast().getTypeSizeInChars(element).getQuantity();
    std::map<std::vector<std::string>, long long> wanted;
    for (const auto& [names, factor] : *elements) wanted[names] = factor * bytes;
    if (workspace_at_.isValid() && wanted != workspace_)
      problems_.add(call.getExprLoc(), "a workspace is asked for in several sizes; ask once, for all of it");
    workspace_at_ = call.getExprLoc();
    workspace_ = std::move(wanted);
  }

  /// A Launch of another configuration than the one that was asked for.
  void note_launch(const clang::CXXConstructExpr& construction, const clang::CXXRecordDecl& record) {
    const auto* made = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
    if (made == nullptr || made->getQualifiedNameAsString() != "iris::device::Launch") return;
    const clang::CXXRecordDecl* config = made->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
    if (config == nullptr || config->getQualifiedNameAsString() == "irisgen_reading::Config") return;
    json launch = {{"place", problems_.place_text(construction.getExprLoc())}};
    for (const char* name : {"world", "blocks", "threads"}) {
      const auto value = number_of(*config, name);
      if (!value) {
        problems_.add(config->getLocation(), "'" + config->getNameAsString() + "' has no constant '" + name +
                                                 "', which a Launch needs; add static constexpr i32 " + name);
        return;
      }
      if (*value < 1 || *value > most_blocks) {
        problems_.add(config->getLocation(), "'" + config->getNameAsString() + "' has " + name + " = " +
                                                 std::to_string(*value) + "; write from 1 to " +
                                                 std::to_string(most_blocks));
        return;
      }
      launch[name] = *value;
    }
    if (launch_ && *launch_ != launch && (*launch_)["place"] != launch["place"]) {
      problems_.add(construction.getExprLoc(),
                    "a kernel makes one Launch; another is at " + (*launch_)["place"].get<std::string>());
      return;
    }
    launch_ = std::move(launch);
  }

  static constexpr long long most_blocks = 65535;  // that the language knows

  const Parsed& parsed_;
  Problems& problems_;
  ElementCount count_;
  std::set<const clang::FunctionDecl*> seen_;
  std::vector<const clang::FunctionDecl*> pending_;
  bool waits_ = false;
  long long flags_ = 0;
  clang::SourceLocation flags_at_;
  std::map<std::vector<std::string>, long long> workspace_;  ///< bytes
  clang::SourceLocation workspace_at_;
  std::optional<json> launch_;
};

}  // namespace

void describe_reach(const Parsed& parsed, const clang::FunctionDecl& entry, const std::vector<std::string>& extents,
                    json& answer, Problems& problems) {
  answer.update(Walk(parsed, entry, extents, problems).answer());
}

}  // namespace iris::clang_library
