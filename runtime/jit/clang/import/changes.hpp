#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/jit/clang/import/remedies.hpp"
#include "runtime/jit/clang/parse.hpp"

namespace iris::clang_library::importing {

/// What must change in a source before it is a kernel on the symmetric heap: each kind of thing once, where it stands
/// first, with notes for where else.
class Changes {
 public:
  explicit Changes(const Parsed& parsed) : parsed_(parsed) {}

  /// `key` tells what is the same thing. `fix` is what could stand there instead, if that is one expression.
  void add(std::string_view rule, const std::string& key, clang::SourceRange where, const std::string& message,
           const std::string& fix = "");
  /// "'atomicAdd_system': write …"
  void add(const Remedy& remedy, const std::string& name, clang::SourceRange where, const std::string& fix = "");
  /// What Clang has said, as it is.
  void add(Diagnostic diagnostic);
  /// Whether that thing has been added.
  bool has(const Remedy& remedy, const std::string& name) const;
  void want_include(std::string_view header) { includes_.insert(std::string(header)); }

  /// Headers of the vocabulary that the remedies need.
  const std::set<std::string>& includes() const { return includes_; }
  /// In the order of their places in the main file.
  std::vector<Diagnostic> take();

 private:
  const Parsed& parsed_;
  std::vector<Diagnostic> found_;
  std::map<std::string, std::size_t> known_;
  std::set<std::string> includes_;
};

}  // namespace iris::clang_library::importing
