#pragma once

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/diagnostics.hpp"

namespace iris::clang_library {

/// A source to be understood, not compiled.
struct ParseRequest {
  std::string name = {};  ///< shown in messages; what it includes by "…" is looked for next to it, on the disk
  std::string source = {};
  std::map<std::string, std::string> headers = {};  ///< what `#include <…>` finds, and nothing else: path to text
  std::string before = {};  ///< C++ that is read before the first line of the source, whose lines keep their numbers
  std::string after = {};   ///< C++ that is read behind its last line
  std::vector<std::string> arguments = {};  ///< of `clang -cc1`, which count more than those that every source has
  std::function<void(clang::Preprocessor&)> prepare = {};  ///< called before the first line is read
};

/// What a source in the vocabulary needs before it: the names of attributes, which we ask the tree for.
inline constexpr const char* annotations = "#define IRIS_SYMMETRIC __attribute__((annotate(\"iris_symmetric\")))\n";

/// The fields `name`, `source` and `headers` of a question. Throws nlohmann::json::exception where one is missing.
ParseRequest parse_request(const nlohmann::json& question);

/// A source as Clang's front end understood it, for the CPU, where each keyword of HIP means nothing. What the user
/// wrote is in the main file, the vocabulary's headers are system headers.
class Parsed {
 public:
  explicit Parsed(const ParseRequest& request);
  ~Parsed();
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  /// Whether there is no error. Otherwise the syntax tree lacks what is wrong, or all if nothing could be read.
  bool ok() const;
  /// Whether anything was read at all, right or wrong.
  bool has_tree() const { return action_ != nullptr; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

  clang::ASTContext& ast() const { return compiler_->getASTContext(); }
  clang::SourceManager& sources() const { return compiler_->getSourceManager(); }
  clang::Preprocessor& preprocessor() const { return compiler_->getPreprocessor(); }
  clang::Sema& sema() const { return compiler_->getSema(); }

 private:
  void read(const ParseRequest& request);

  std::map<std::string, std::string> texts_;
  std::string source_;
  std::vector<Diagnostic> diagnostics_;
  std::unique_ptr<DiagnosticCollector> collector_;
  std::unique_ptr<clang::CompilerInstance> compiler_;
  std::unique_ptr<clang::FrontendAction> action_;
};

}  // namespace iris::clang_library
