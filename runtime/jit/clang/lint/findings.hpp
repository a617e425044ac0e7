#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/jit/clang/diagnostics.hpp"
#include "runtime/jit/clang/lint/names.hpp"

namespace iris::clang_library::lint {

/// Collects what the rules find: each place once, and nothing that a comment takes back.
class Findings {
 public:
  explicit Findings(clang::ASTContext& ast) : ast_(ast) {}

  /// A warning; a template that is instantiated more than once has found it more than once. nullptr: not kept.
  Diagnostic* add(const RuleName& rule, clang::SourceRange where, std::string message);
  /// A note that stands for itself: what was not looked at.
  void remark(clang::SourceRange where, std::string message);
  void note(Diagnostic* finding, clang::SourceRange where, std::string message);
  /// What would make it right: `text` in the place of a range of whole tokens. Not where a macro has a part in it.
  void replace(Diagnostic* finding, clang::SourceRange where, std::string text);
  void insert(Diagnostic* finding, clang::SourceLocation where, std::string text);

  /// As the source has it; empty where a macro has a part in it.
  std::string text_of(clang::SourceRange range) const;

  /// In the order of their places.
  std::vector<Diagnostic> take();

 private:
  Place place(clang::SourceRange range) const;

  clang::ASTContext& ast_;
  std::deque<Diagnostic> found_;
};

/// Whether a comment in `text` takes back what `rule` finds in line `line`: NOLINT on the line, NOLINTNEXTLINE on the
/// one before, NOLINTBEGIN and NOLINTEND around it, of all rules or of those in parentheses (`*` stands for anything),
/// as clang-tidy has it.
bool is_taken_back(std::string_view text, int line, std::string_view rule);

}  // namespace iris::clang_library::lint
