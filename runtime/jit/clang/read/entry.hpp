#pragma once

#include <clang/AST/Decl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/parse.hpp"

namespace iris::clang_library {

/// Errors at places of what Parsed has read.
class Problems {
 public:
  explicit Problems(const Parsed& parsed) : parsed_(parsed) {}

  void add(clang::SourceLocation where, std::string message) {
    found.push_back({.message = std::move(message), .place = place(where)});
  }
  Place place(clang::SourceLocation where) const {
    return place_of(parsed_.sources(), parsed_.ast().getLangOpts(),
                    clang::CharSourceRange::getTokenRange(where, where));
  }
  /// `halo.hip:12:3`
  std::string place_text(clang::SourceLocation where) const {
    const Place at = place(where);
    return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  std::vector<Diagnostic> found;

 private:
  const Parsed& parsed_;
};

/// The function of that qualified name in the user's files; null, with an error, if there is none, or several, or a
/// template over anything but one type, of which `over` says what it is.
const clang::NamedDecl* find_entry(const Parsed& parsed, const std::string& name, const std::string& over,
                                   Problems& problems);

/// Whether the user has marked it: IRIS_SYMMETRIC.
bool is_symmetric(const clang::ParmVarDecl& parameter);

/// Of a template the function that was made of it for `type`: f32, say, or irisgen_reading::Config.
const clang::FunctionDecl* instantiated(const clang::NamedDecl& entry, const std::string& type);

/// The field `parameters` of the answer for a function that takes all ranks' buffers as float64, `const double* const*
/// input`, by rank and element, extents, and scalars. The `kernel` has `buffers` and `scalars`, as in the question.
void describe_reference(const clang::FunctionDecl& function, const std::vector<std::string>& extents,
                        const nlohmann::json& kernel, nlohmann::json& answer, Problems& problems);

/// The fields `parameters` (with `name`, `comment`, `place`), `place` and `comment` of the answer for a function of
/// values that gives one of that type: f32, f64 or i32.
void describe_function(const Parsed& parsed, const clang::FunctionDecl& function, const std::string& type,
                       nlohmann::json& answer, Problems& problems);

/// What a description has names for.
struct DescribedNames {
  const std::vector<std::string>& extents;
  std::vector<std::string> arguments;
};
/// The fields `parameters`, `place` and `comment` of the answer, see read_kernel.cpp.
void describe_entry(const Parsed& parsed, const clang::FunctionDecl& entry, const DescribedNames& names,
                    nlohmann::json& answer, Problems& problems);

}  // namespace iris::clang_library
