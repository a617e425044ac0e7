#include "runtime/jit/clang/sample_config.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include <map>

namespace iris::clang_library {
namespace {

/// As in templates/sample_config.hpp.
const std::map<std::string, std::string>& known_members() {
  static const std::map<std::string, std::string> members = {
      {"Element", "using Element = f32;"},
      {"Result", "using Result = f32;"},
      {"Accumulate", "using Accumulate = f32;"},
      {"Operation", "using Operation = Sum;"},
      {"MainLoop", "using MainLoop = FusedMultiplyAdd;"},
      {"LayoutB", "using LayoutB = RowMajor;"},
      {"world", "static constexpr i32 world = 4;"},
      {"root", "static constexpr i32 root = 1;"},
      {"row_shards", "static constexpr i32 row_shards = 4;"},
      {"column_shards", "static constexpr i32 column_shards = 1;"},
      {"blocks", "static constexpr i32 blocks = 8;"},
      {"comm_blocks", "static constexpr i32 comm_blocks = 2;"},
      {"threads", "static constexpr i32 threads = 64;"},
      {"vector", "static constexpr i32 vector = 2;"},
      {"unroll", "static constexpr i32 unroll = 2;"},
      {"portions", "static constexpr i32 portions = 2;"},
      {"parts", "static constexpr i32 parts = 3;"},
      {"chunk", "static constexpr i32 chunk = 1024;"},
      {"tile_m", "static constexpr i32 tile_m = 32;"},
      {"tile_n", "static constexpr i32 tile_n = 32;"},
      {"tile_k", "static constexpr i32 tile_k = 16;"},
      {"tile_band", "static constexpr i32 tile_band = 2;"},
  };
  return members;
}

/// What the user's templates take from a template parameter.
class MemberNames : public clang::DynamicRecursiveASTVisitor {
 public:
  std::map<std::string, std::string> members = known_members();

  bool VisitDependentScopeDeclRefExpr(clang::DependentScopeDeclRefExpr* reference) override {
    const auto name = reference->getDeclName();
    if (is_parameter(reference->getQualifier()) && name.isIdentifier() && !reference->hasExplicitTemplateArgs()) {
      const std::string member = name.getAsString();
      members.try_emplace(member, "static constexpr i32 " + member + " = 4;");
    }
    return true;
  }
  bool VisitDependentNameTypeLoc(clang::DependentNameTypeLoc type) override {
    if (is_parameter(type.getTypePtr()->getQualifier())) {
      const std::string member = type.getTypePtr()->getIdentifier()->getName().str();
      members.insert_or_assign(
          member, known_members().contains(member) ? known_members().at(member) : "using " + member + " = f32;");
    }
    return true;
  }

 private:
  static bool is_parameter(clang::NestedNameSpecifier qualifier) {
    return qualifier.getKind() == clang::NestedNameSpecifier::Kind::Type &&
           llvm::isa<clang::TemplateTypeParmType>(qualifier.getAsType());
  }
};

/// Whether the one parameter of a template can be a Config: it is called so, or the function begins as a kernel does.
bool takes_config(const clang::FunctionTemplateDecl& function) {
  const clang::TemplateParameterList* parameters = function.getTemplateParameters();
  if (parameters->size() != 1) return false;
  const auto* parameter = llvm::dyn_cast<clang::TemplateTypeParmDecl>(parameters->getParam(0));
  if (parameter == nullptr || parameter->isParameterPack()) return false;
  if (parameter->getName() == "Config") return true;
  const clang::FunctionDecl* pattern = function.getTemplatedDecl();
  if (pattern->getNumParams() == 0) return false;
  const auto* record = pattern->getParamDecl(0)->getType().getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getQualifiedNameAsString() == "iris::device::Context";
}

}  // namespace

std::vector<std::string> kernels_without_config(clang::ASTContext& ast) {
  using namespace clang::ast_matchers;  // NOLINT(google-build-using-namespace): so that matchers read as they are meant
  const auto wanted =
      functionTemplateDecl(unless(isExpansionInSystemHeader()), unless(hasAncestor(recordDecl()))).bind("function");
  std::vector<std::string> names;
  for (const auto& found : match(wanted, ast)) {
    const auto* function = found.getNodeAs<clang::FunctionTemplateDecl>("function");
    const bool has_body = function->getTemplatedDecl()->doesThisDeclarationHaveABody();
    if (!has_body || !function->specializations().empty() || !takes_config(*function)) continue;
    std::string name = function->getNameAsString();
    for (const clang::DeclContext* scope = function->getDeclContext(); scope != nullptr; scope = scope->getParent()) {
      const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope);
      if (space != nullptr && !space->isAnonymousNamespace() && !space->isInline()) {
        name.insert(0, space->getNameAsString().append("::"));
      }
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string instances_with_sample(clang::ASTContext& ast, const std::vector<std::string>& kernels) {
  MemberNames names;
  for (clang::Decl* declaration : ast.getTranslationUnitDecl()->decls()) {
    if (!ast.getSourceManager().isInSystemHeader(declaration->getLocation())) names.TraverseDecl(declaration);
  }
  std::string text =
      "#include <iris/device/main_loop.hpp>\n#include <iris/device/reduce.hpp>\n"
      "namespace irisgen_sample {\nusing namespace iris::device;\nstruct Config {\n";
  for (const auto& [name, member] : names.members) text += member + "\n";
  text += "};\n";
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    text += "constexpr auto* instance_" + std::to_string(i) + " = &::" + kernels[i] + "<Config>;\n";
  }
  return text + "}\n";
}

}  // namespace iris::clang_library
