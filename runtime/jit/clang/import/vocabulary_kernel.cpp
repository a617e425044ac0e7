#include "runtime/jit/clang/import/vocabulary_kernel.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runtime/jit/clang/import/kernels.hpp"
#include "runtime/jit/clang/import/parameters.hpp"
#include "runtime/jit/clang/read/entry.hpp"

namespace iris::clang_library::importing {
namespace {

using nlohmann::json;

/// Of Config, that no description lists as a constant.
constexpr std::array<std::string_view, 13> own_members = {
    "world",      "blocks",    "threads",           "vector",       "unroll",   "Element", "Result",
    "Accumulate", "Operation", "min_blocks_per_sm", "waves_per_eu", "MainLoop", "LayoutB"};

bool is_own_member(const std::string& name) {
  return std::ranges::find(own_members, std::string_view(name)) != own_members.end();
}

bool takes_context(const clang::FunctionDecl& function) {
  if (function.getNumParams() == 0) return false;
  const auto* record = function.getParamDecl(0)->getType().getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getQualifiedNameAsString() == "iris::device::Context";
}

/// The vocabulary, where a file brings it along.
bool is_vocabulary(const clang::FunctionDecl& function) {
  return function.getQualifiedNameAsString().starts_with("iris::device::");
}

class FunctionsOfContext : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit FunctionsOfContext(const Parsed& parsed) : parsed_(parsed) {
    TraverseDecl(parsed.ast().getTranslationUnitDecl());
  }
  std::vector<const clang::FunctionDecl*> found;

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody() && !llvm::isa<clang::CXXMethodDecl>(function) &&
        is_users(parsed_, *function) && takes_context(*function) && !is_vocabulary(*function))
      found.push_back(function);
    return true;
  }

 private:
  const Parsed& parsed_;
};

/// What a kernel takes from its Config, by name.
class Members : public clang::DynamicRecursiveASTVisitor {
 public:
  std::set<std::string> constants;
  bool takes_element = false;

  bool VisitDependentScopeDeclRefExpr(clang::DependentScopeDeclRefExpr* reference) override {
    if (is_parameter(reference->getQualifier()) && reference->getDeclName().isIdentifier())
      constants.insert(reference->getDeclName().getAsString());
    return true;
  }
  bool VisitDependentNameTypeLoc(clang::DependentNameTypeLoc type) override {
    takes_element = takes_element || type.getTypePtr()->getIdentifier()->getName() == "Element";
    return true;
  }

 private:
  static bool is_parameter(clang::NestedNameSpecifier qualifier) {
    return qualifier.getKind() == clang::NestedNameSpecifier::Kind::Type &&
           llvm::isa<clang::TemplateTypeParmType>(qualifier.getAsType());
  }
};

/// A call of a kernel by the entry that irisgen emits: extents stand in it as numbers.
class CallOf : public clang::DynamicRecursiveASTVisitor {
 public:
  CallOf(const Parsed& parsed, const clang::FunctionDecl& kernel) : kernel_(kernel) {
    TraverseDecl(parsed.ast().getTranslationUnitDecl());
  }
  const clang::CallExpr* found = nullptr;

  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr) return true;
    const clang::FunctionDecl* pattern = callee->getTemplateInstantiationPattern();
    if ((pattern != nullptr ? pattern : callee)->getCanonicalDecl() == kernel_.getCanonicalDecl()) found = call;
    return true;
  }

 private:
  const clang::FunctionDecl& kernel_;
};

std::string dtype_of(clang::QualType type) {
  const std::string dtype = element_of(type);
  return dtype == "Element" ? "" : dtype;
}

/// The Config that a call instantiates the kernel with, or that stands beside it; null where there is none.
const clang::CXXRecordDecl* config_of(const clang::FunctionDecl& kernel, const clang::CallExpr* call) {
  if (kernel.getDescribedFunctionTemplate() == nullptr) {
    for (const clang::Decl* beside : kernel.getDeclContext()->decls()) {
      const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(beside);
      if (record != nullptr && record->getName() == "Config" && record->isCompleteDefinition()) return record;
    }
  }
  const auto* arguments = call == nullptr ? nullptr : call->getDirectCallee()->getTemplateSpecializationArgs();
  if (arguments == nullptr || arguments->size() != 1) return nullptr;
  const clang::TemplateArgument& config = arguments->get(0);
  return config.getKind() == clang::TemplateArgument::Type ? config.getAsType()->getAsCXXRecordDecl() : nullptr;
}

/// Numbers of a Config, by name, and the type of its elements.
struct Config {
  std::map<std::string, long long> numbers;
  std::string element;

  int number(const std::string& name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? 0 : static_cast<int>(found->second);
  }
};

Config values_of(const clang::CXXRecordDecl* record) {
  Config config;
  if (record == nullptr) return config;
  for (const clang::Decl* member : record->decls()) {
    if (const auto* alias = llvm::dyn_cast<clang::TypeAliasDecl>(member); alias != nullptr) {
      if (alias->getName() == "Element") config.element = dtype_of(alias->getUnderlyingType());
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(member);
    const clang::APValue* value = variable == nullptr ? nullptr : variable->evaluateValue();
    if (value != nullptr && value->isInt()) config.numbers[variable->getNameAsString()] = value->getInt().getExtValue();
  }
  return config;
}

/// The i-th argument of a call, if it is a number; 0 else.
long long number_at(const Parsed& parsed, const clang::CallExpr* call, unsigned i) {
  clang::Expr::EvalResult result;
  if (call == nullptr || i >= call->getNumArgs() || call->getArg(i)->isValueDependent()) return 0;
  return call->getArg(i)->EvaluateAsInt(result, parsed.ast()) ? result.Val.getInt().getExtValue() : 0;
}

/// `launch.workspace<T>()`, which does not say how much: templates of irisgen's own have that from their plans.
class UnsizedWorkspace : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit UnsizedWorkspace(Changes& changes) : changes_(changes) {}

  bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr* member) override {
    return note(member->getMember(), member->getMemberLoc());
  }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    return note(member->getMemberDecl()->getDeclName(), member->getMemberLoc());
  }
  bool VisitUnresolvedMemberExpr(clang::UnresolvedMemberExpr* member) override {
    return note(member->getMemberName(), member->getMemberLoc());
  }

 private:
  bool note(clang::DeclarationName name, clang::SourceLocation where) {
    if (name.isIdentifier() && name.getAsString() == "workspace")
      changes_.add("import-workspace", "", clang::SourceRange(where),
                   "launch.workspace<T>() does not say how much; write workspace<T>(launch, count)");
    return true;
  }

  Changes& changes_;
};

/// Config's members that the kernel needs a description for.
json constants_of(const Members& members, const Config& config) {
  json constants = json::array();
  for (const std::string& name : members.constants) {
    if (is_own_member(name)) continue;
    const auto known = config.numbers.find(name);
    constants.push_back({{"name", name},
                         {"value", known == config.numbers.end() ? 0 : known->second},
                         {"known", known != config.numbers.end()}});
  }
  return constants;
}

}  // namespace

std::vector<const clang::FunctionDecl*> vocabulary_kernels_of(const Parsed& parsed) {
  std::vector<const clang::FunctionDecl*> all = FunctionsOfContext(parsed).found;
  // What irisgen emits around a kernel.
  std::erase_if(all, [](const clang::FunctionDecl* one) { return one->isExternC(); });
  std::vector<const clang::FunctionDecl*> kernels;
  for (const clang::FunctionDecl* one : all) {
    const bool is_called = std::ranges::any_of(all, [&](const clang::FunctionDecl* other) {
      const auto reached = reached_from(parsed, *other);
      return other != one && std::ranges::find(reached, one) != reached.end();
    });
    if (!is_called) kernels.push_back(one);
  }
  return kernels;
}

json describe_vocabulary_kernel(const Parsed& parsed, const clang::FunctionDecl& kernel, Changes& changes) {
  const CallOf call(parsed, kernel);
  const Config config = values_of(config_of(kernel, call.found));
  const auto reached = reached_from(parsed, kernel);
  Members members;
  for (const clang::FunctionDecl* function : reached) {
    if (is_vocabulary(*function)) continue;
    members.TraverseDecl(const_cast<clang::FunctionDecl*>(function));
    UnsizedWorkspace(changes).TraverseDecl(const_cast<clang::FunctionDecl*>(function));
  }
  json facts = {{"complete", true},
                {"entry", kernel.getQualifiedNameAsString()},
                // In a file that has an entry already, one of another name.
                {"name", (call.found == nullptr ? "" : "imported_") + kernel.getNameAsString()},
                {"dtype", config.element},
                {"world", config.number("world")},
                {"blocks", config.number("blocks")},
                {"threads", config.number("threads")},
                {"vector", config.number("vector")},
                {"extents", json::array()},
                {"constants", constants_of(members, config)},
                {"scalars", json::array()},
                {"arguments", json::array()}};
  const std::vector<Parameter> parameters = parameters_of(kernel, reached);
  for (unsigned i = 1; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const clang::QualType type = parameter.decl->getType();
    if (type->isArithmeticType() && !type->isSpecificBuiltinType(clang::BuiltinType::LongLong)) {
      facts["scalars"].push_back(parameter.name);
      continue;
    }
    if (!type->isPointerType()) {
      facts["extents"].push_back({{"name", parameter.name}, {"value", number_at(parsed, call.found, i)}});
      continue;
    }
    const bool is_const = parameter.decl->getType()->getPointeeType().isConstQualified();
    const std::string dtype = dtype_of(parameter.decl->getType()->getPointeeType());
    facts["arguments"].push_back({{"name", parameter.name},
                                  {"access", is_const            ? "read"
                                             : parameter.updates ? "update"
                                                                 : "write"},
                                  {"dtype", dtype},
                                  {"symmetric", is_symmetric(*parameter.decl)}});
    if (!members.takes_element && facts["dtype"].get<std::string>().empty()) facts["dtype"] = dtype;
  }
  return facts;
}

}  // namespace iris::clang_library::importing
