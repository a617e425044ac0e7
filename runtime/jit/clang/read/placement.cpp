#include "runtime/jit/clang/read/placement.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <optional>

#include "runtime/jit/clang/source_files.hpp"

namespace iris::clang_library {
namespace {

class Placement : public clang::DynamicRecursiveASTVisitor {
 public:
  Placement(const Parsed& parsed, Problems& problems)
      : parsed_(parsed), sources_(parsed.sources()), language_(parsed.ast().getLangOpts()), problems_(problems) {
    for (clang::Decl* decl : parsed.ast().getTranslationUnitDecl()->decls()) {
      if (is_users(decl->getLocation())) TraverseDecl(decl);
    }
  }
  Ranges linkages;

  bool VisitLinkageSpecDecl(clang::LinkageSpecDecl* linkage) override {
    const clang::SourceLocation begin = linkage->getExternLoc();
    const auto language = next_token(begin);
    const auto brace = language ? next_token(language->getLocation()) : std::nullopt;
    const bool has_braces = linkage->hasBraces();
    if (begin.isMacroID() || !brace || (has_braces && !brace->is(clang::tok::l_brace))) {
      problems_.add(begin,
                    "extern \"C\" is left out of an emitted file, and here it is in parts, or a macro's; write it "
                    "out, or leave it out");
      return true;
    }
    leave_out(begin, (has_braces ? *brace : *language).getLocation());
    if (has_braces) leave_out(linkage->getRBraceLoc(), linkage->getRBraceLoc());
    return true;
  }

  bool VisitNamespaceDecl(clang::NamespaceDecl* space) override {
    if (space->getName() == "iris" && space->getDeclContext()->getRedeclContext()->isTranslationUnit()) {
      problems_.add(space->getLocation(),
                    "'iris' is irisgen's own namespace, and this file's text has another one in an emitted file; "
                    "choose a namespace of your own: there can be no specialisations in iris::device");
    }
    return true;
  }

  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc qualifier) override {
    if (qualifier && qualifier.getNestedNameSpecifier().getKind() == clang::NestedNameSpecifier::Kind::Global)
      check_global(qualifier.getBeginLoc());
    return clang::DynamicRecursiveASTVisitor::TraverseNestedNameSpecifierLoc(qualifier);
  }

 private:
  /// In one of the user's files, not in what is read before or behind them.
  bool is_users(clang::SourceLocation where) const {
    const clang::SourceLocation place = sources_.getExpansionLoc(where);
    return place.isValid() && !sources_.isInSystemHeader(place) &&
           !sources_.getFilename(place).starts_with(virtual_folder);
  }

  std::optional<clang::Token> next_token(clang::SourceLocation where) const {
    return clang::Lexer::findNextToken(where, sources_, language_);
  }

  void leave_out(clang::SourceLocation first, clang::SourceLocation last) {
    const auto [file, begin] = sources_.getDecomposedLoc(first);
    const clang::SourceLocation end = clang::Lexer::getLocForEndOfToken(last, 0, sources_, language_);
    linkages[file].emplace_back(begin, sources_.getFileOffset(end) - begin);
  }

  void check_global(clang::SourceLocation colons) {
    const clang::SourceLocation where = sources_.getSpellingLoc(colons);
    const auto word = next_token(where);
    if (!is_users(colons) || !word || !word->is(clang::tok::raw_identifier)) return;
    const llvm::StringRef name = word->getRawIdentifier();
    const clang::DeclarationName declared(parsed_.preprocessor().getIdentifierInfo(name));
    const auto found = parsed_.ast().getTranslationUnitDecl()->lookup(declared);
    if (std::ranges::none_of(found, [&](const clang::NamedDecl* one) { return is_users(one->getLocation()); })) return;
    problems_.add(colons, "'::" + name.str() + "' is not at global scope in an emitted file, where this file's text " +
                              "has a namespace of its own; write '" + name.str() + "' without '::' before it");
  }

  const Parsed& parsed_;
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  Problems& problems_;
};

}  // namespace

Ranges place_in_namespace(const Parsed& parsed, Problems& problems) {
  return std::move(Placement(parsed, problems).linkages);
}

}  // namespace iris::clang_library
